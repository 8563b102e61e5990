#pragma once

#include <memory>

#include "server/api/api_metrics.h"
#include "server/api/generation/grammar_cache.h"
#include "server/http/router.h"
#include "server/model_host.h"
#include "server/speech_host.h"

namespace wick {

struct RealtimeOptions {
  double most_unheard_seconds = 600;         // of sound that came faster than it was understood
  size_t most_conversation_bytes = 4 << 20;  // of text that a session remembers
};

// The web socket /v1/realtime: OpenAI's realtime sessions, with speech to text and answers as text. Thread-safe. Must
// live longer than the HttpServer it answers for.
class Realtime {
 public:
  Realtime(std::shared_ptr<ModelHost> host, std::shared_ptr<SpeechHost> speech, ApiMetrics& metrics,
           RealtimeOptions options = {});

  void add_routes(Router& router);

 private:
  friend class RealtimeSession;
  std::shared_ptr<WebSocketListener> open(const HttpRequest& request);

  std::shared_ptr<ModelHost> host_;
  std::shared_ptr<SpeechHost> speech_;
  ApiMetrics& metrics_;
  const RealtimeOptions options_;
  std::shared_ptr<GrammarCache> grammars_ = std::make_shared<GrammarCache>();
};

}  // namespace wick
