#include "server/api/realtime/realtime.h"

#include "base/utf8.h"
#include "server/api/realtime/realtime_session.h"

namespace wick {

Realtime::Realtime(std::shared_ptr<ModelHost> host, std::shared_ptr<SpeechHost> speech, ApiMetrics& metrics,
                   RealtimeOptions options)
    : host_(std::move(host)), speech_(std::move(speech)), metrics_(metrics), options_(options) {}

void Realtime::add_routes(Router& router) {
  router.add_web_socket("/v1/realtime", [this](const HttpRequest& request) { return open(request); },
                        {.protocol = "realtime"});
}

// The model in the address is the one that answers or the one that listens.
std::shared_ptr<WebSocketListener> Realtime::open(const HttpRequest& request) {
  RealtimeSettings settings;
  settings.model = host_->default_model();
  settings.speech_model = speech_->default_model();
  for (const auto& [name, value] : request.query) {
    if (name == "intent" && value == "transcription") settings.type = value;
    if (name != "model") continue;
    if (!host_->has(value) && !speech_->has(value)) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("there is no model ", in_quotes(value), " here; GET /v1/models lists those that answer"));
    }
    (host_->has(value) ? settings.model : settings.speech_model) = value;
  }
  return std::make_shared<RealtimeSession>(*this, std::move(settings), request.caller);
}

}  // namespace wick
