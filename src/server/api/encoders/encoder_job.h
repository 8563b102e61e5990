#pragma once

#include <memory>
#include <string>

#include "server/api/api.h"
#include "server/api/generation/caller_share.h"
#include "server/api/request_error.h"
#include "server/http/error_response.h"
#include "server/http/exchange.h"
#include "server/model_shelf.h"

namespace wick {

// Has an encoder of the shelf answer a request on one of its threads: `answer(model, name)` gives the body, or throws.
// An empty name means the first. Throws RequestError when there is no such model.
template <typename Model, typename Answer>
void answer_with(const std::shared_ptr<ModelShelf<Model>>& shelf, std::string name, const char* option,
                 const Caller& caller, const std::shared_ptr<HttpExchange>& exchange, Answer answer) {
  if (!shelf || shelf->names().empty()) {
    throw RequestError({}, cat("this server has no such model: it was started without ", option), "model_not_found",
                       404);
  }
  if (name.empty()) name = shelf->default_model();
  if (!shelf->has(name)) throw RequestError("model", shelf->unknown(name), "model_not_found", 404);
  if (auto refusal = out_of_tokens(caller)) return exchange->send(std::move(*refusal));
  // Not its owner: a shelf whose last owner was a job would end on the thread that it waits for.
  ModelShelf<Model>* const place = shelf.get();
  const bool has_room = place->run(caller.name, [place, name, exchange, answer] {
    HttpResponse response;
    try {
      response.body = answer(*place->use(name), name);
    } catch (...) {
      response = api_error_response(std::current_exception());
    }
    exchange->send(std::move(response));
  });
  if (has_room) return;
  HttpResponse busy =
      error_response(429, "There are too many requests waiting; try again later.", {}, {}, "rate_limit_exceeded");
  busy.headers.emplace_back("Retry-After", "1");
  exchange->send(std::move(busy));
}

// For what is called between passes: throws when the client has gone.
inline std::function<void(int64_t)> while_open(const std::shared_ptr<HttpExchange>& exchange) {
  return [exchange](int64_t) {
    if (exchange->is_closed()) throw Error(ErrorCode::kInternal, "the request was cancelled");
  };
}

}  // namespace wick
