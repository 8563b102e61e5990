#include "server/api/generation/caller_share.h"

#include "base/text.h"
#include "base/utf8.h"
#include "models/adapter_slots.h"
#include "server/api/request_error.h"
#include "server/http/error_response.h"

namespace wick {

std::string cache_salt_of(const Caller& caller) { return caller.limits.shares_cache ? std::string() : caller.key; }

void compute_for(const Caller& caller, EngineRequest& request) {
  const std::string& most = caller.limits.priority;
  if (request.priority > priority_named(most).value_or(Priority::kCritical)) {
    throw RequestError("priority",
                       cat("priority is ", to_string(request.priority), ", allowed to this API key is at most ", most),
                       "priority_not_allowed", 403);
  }
  request.client = {caller.name, caller.limits.weight};
  request.cache_salt = cache_salt_of(caller);
}

void use_adapter(const std::string& name, const TextModel& model, EngineRequest& request) {
  if (name.empty()) return;
  const std::optional<int64_t> found = model.model().adapters().find(name);
  if (!found) throw RequestError("model", cat("the model has no adapter ", in_quotes(name)));
  request.adapters = {*found};
}

std::optional<HttpResponse> out_of_tokens(const Caller& caller) {
  if (!caller.use) return std::nullopt;
  const auto wait = caller.use->wait_for_tokens(caller.key, caller.limits);
  if (!wait) return std::nullopt;
  HttpResponse response = error_response(
      429, cat("This API key may use ", static_cast<int64_t>(caller.limits.tokens_per_minute), " tokens per minute."),
      {}, {}, "rate_limit_exceeded");
  response.headers.emplace_back("Retry-After", cat(wait->count()));
  return response;
}

void spend_tokens(const Caller& caller, int64_t tokens) {
  if (caller.use) caller.use->spend_tokens(caller.key, caller.limits, tokens);
}

}  // namespace wick
