#include "server/api/generation/request_defaults.h"

#include <algorithm>

namespace wick {
namespace {

// Each is set where it is empty.
void fill_sampling(ChoicesRequest& request, const RequestDefaults& defaults) {
  const auto fill = [&](auto... members) {
    const auto one = [&](auto member) {
      if (!(request.*member)) request.*member = defaults.*member;
    };
    (one(members), ...);
  };
  using R = ChoicesRequest;
  fill(&R::temperature, &R::top_p, &R::seed, &R::top_k, &R::min_p, &R::typical_p, &R::repetition_penalty,
       &R::penalty_window, &R::dry_multiplier, &R::dry_base, &R::dry_allowed_length, &R::dry_window, &R::dry_breakers,
       &R::xtc_probability, &R::xtc_threshold, &R::mirostat, &R::mirostat_tau, &R::mirostat_eta, &R::frequency_penalty,
       &R::presence_penalty);
  if (request.stop.texts.empty()) request.stop = defaults.stop;
  if (request.logit_bias.entries.empty()) request.logit_bias = defaults.logit_bias;
  request.ignore_eos = request.ignore_eos || defaults.ignore_eos;
}

}  // namespace

const Fields<RequestDefaults>& RequestDefaults::fields() {
  using R = RequestDefaults;
  static const Fields<R> fields = Fields<R>("RequestDefaults", BodyUse::kRequest)
                                      .add_all(ChoicesRequest::fields())
                                      .add("system", &R::system, "The system message.")
                                      .add("max_tokens", &R::max_tokens, "At most this many tokens.")
                                      .range(-1);
  return fields;
}

void RequestDefaults::fill(std::vector<ChatMessage>& messages) const {
  const bool has_one = std::any_of(messages.begin(), messages.end(), [](const ChatMessage& message) {
    return message.role == "system" || message.role == "developer";
  });
  if (!system || has_one) return;
  ChatMessage first;
  first.role = "system";
  first.content = TextContent{*system};
  messages.insert(messages.begin(), std::move(first));
}

void RequestDefaults::fill(ChatRequest& request) const {
  fill_sampling(request, *this);
  fill(request.messages);
  if (!request.max_tokens && !request.max_completion_tokens) request.max_completion_tokens = max_tokens;
}

void RequestDefaults::fill(CompletionRequest& request) const { fill_sampling(request, *this); }

}  // namespace wick
