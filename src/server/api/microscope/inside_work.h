#pragma once

#include <memory>
#include <string>

#include "server/api/microscope/inside_request.h"
#include "server/http/exchange.h"
#include "server/inspector.h"

namespace wick {

// One request of POST /v1/wick/...: computed on a thread of the Inspector, answered to an exchange. Throws Error or
// RequestError, and stops between two passes when the client goes.
class InsideWork {
 public:
  InsideWork(Inspector& inspector, std::shared_ptr<TextEngine> engine, std::shared_ptr<HttpExchange> exchange,
             Caller caller);

  void lens(const LensRequest& wanted);
  void attention(const AttentionRequest& wanted);
  void norms(const InsideRequest& wanted);
  void heads(const InsideRequest& wanted);
  void run(const RunRequest& wanted);
  void probe(const ProbeRequest& wanted);
  void features(const FeaturesRequest& wanted);
  void patch(const PatchRequest& wanted);  // answers with events
  // The error as the answer, or as the last event.
  void fail(const std::exception_ptr& error);

 private:
  std::vector<int32_t> tokens_of(const TextRequest& text, const std::string& place) const;
  // The changes of a text that is continued by up to `more` tokens.
  HookSpec hooks_of(const InsideRequest& wanted, std::span<const int32_t> tokens, int64_t more = 0) const;
  std::string continue_text(std::span<const int32_t> tokens, const HookSpec& hooks, int64_t count) const;
  std::string outcome(std::span<const int32_t> tokens, const HookSpec& hooks, const RunRequest& wanted,
                      std::span<const float> logits) const;
  // What a point gives, [tokens, values].
  Tensor rows_of(const InsideRequest& wanted, std::span<const int32_t> tokens, const std::string& point) const;
  void take_turn(FunctionRef<void()> compute) const;
  static void check_followed(int64_t count);
  void send(std::string body);
  void send_event(std::string event);
  void finish_events();

  Inspector& inspector_;
  std::shared_ptr<TextEngine> engine_;
  std::shared_ptr<HttpExchange> exchange_;
  const Caller caller_;
  const Tokenizer& tokenizer_;
  const LanguageInterp model_;
  bool has_begun_ = false;
};

}  // namespace wick
