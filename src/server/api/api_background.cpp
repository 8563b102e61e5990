// The endpoints of responses that are computed in the background.
#include <algorithm>
#include <random>

#include "base/utf8.h"
#include "server/api/api.h"
#include "server/api/background_answers.h"
#include "server/api/background_queue.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

constexpr size_t kMostKeyBytes = 255;
constexpr std::string_view kCancel = "/cancel";

HttpResponse json_text(std::string text) {
  HttpResponse response;
  response.body = std::move(text);
  return response;
}

// 53 bits, which every reader of JSON keeps.
int64_t draw_seed() {
  std::random_device numbers;
  return static_cast<int64_t>(((uint64_t{numbers()} << 32) | numbers()) >> 11);
}

std::string idempotency_key(const HttpRequest& request) {
  const std::string_view key = request.header("idempotency-key").value_or("");
  const auto is_visible = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (key.size() > kMostKeyBytes || !std::all_of(key.begin(), key.end(), is_visible)) {
    throw RequestError("Idempotency-Key", cat("Idempotency-Key is ", in_quotes(key), ", allowed are up to ",
                                              kMostKeyBytes, " visible ASCII characters"));
  }
  return std::string(key);
}

std::string_view response_id(const HttpRequest& request) { return path_parameter(request.path, "/v1/responses/{id}"); }

RequestError full_journal(Journal::Verdict verdict, const JournalOptions& limits) {
  const std::string what =
      verdict == Journal::Verdict::kTooMany ? cat(limits.most_entries, " responses") : cat(limits.most_bytes, " bytes");
  return RequestError({},
                      cat("the journal is full: it may hold ", what, ". Delete responses, or wait until some are ",
                          limits.keep_seconds, " seconds old"),
                      "journal_full", 429);
}

}  // namespace

template <typename Run>
auto Api::with_journal(const Run& run) {
  try {
    return run();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kIo) throw;
    if (say_) say_(error.what());
    throw RequestError({}, "The journal cannot be written; try again later.", "journal_failed", 503);
  }
}

void Api::accept_background(const HttpRequest& request, const Exchange& exchange, const ResponsesRequest& wanted) {
  if (!background_) {
    throw RequestError("background", "background needs a journal: the server was started without --journal DIR",
                       "unsupported_parameter");
  }
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  JournalEntry entry;
  entry.id = make_id("resp_");
  entry.owner = request.key_name;
  entry.key = idempotency_key(request);
  entry.model = model_name(wanted.model);
  entry.seed = wanted.seed ? *wanted.seed : draw_seed();
  entry.body = std::make_shared<const std::string>(request.body);
  auto [verdict, response] = with_journal([&] { return background_->accept(std::move(entry)); });
  switch (verdict) {
    case Journal::Verdict::kNew:
    case Journal::Verdict::kKnown: return exchange->send(json_text(std::move(response)));
    case Journal::Verdict::kOtherBody:
      throw RequestError("Idempotency-Key", "another request came with this Idempotency-Key before",
                         "idempotency_key_reused", 422);
    case Journal::Verdict::kTooMany:
    case Journal::Verdict::kTooLarge: throw full_journal(verdict, background_->journal().options());
  }
}

RequestError Api::no_response(std::string_view id) const {
  const char* reason = background_ ? "" : ": without --journal DIR the server keeps none";
  return RequestError({}, cat("there is no response ", in_quotes(id), reason), "response_not_found", 404);
}

void Api::stored_response(const HttpRequest& request, const Exchange& exchange) {
  for (const auto& [name, value] : request.query) {
    if (name == "stream" && value != "false") {
      throw RequestError("stream", "a response in the background cannot be streamed", "unsupported_parameter");
    }
  }
  const std::string_view id = response_id(request);
  const auto text = background_ ? background_->response(request.key_name, id) : std::nullopt;
  if (!text) throw no_response(id);
  exchange->send(json_text(*text));
}

void Api::cancel_response(const HttpRequest& request, const Exchange& exchange) {
  std::string_view id = response_id(request);
  if (!id.ends_with(kCancel)) throw RequestError({}, cat("there is nothing to POST to at ", request.path), {}, 404);
  id.remove_suffix(kCancel.size());
  if (!background_) throw no_response(id);
  const auto text = with_journal([&] { return background_->cancel(request.key_name, id); });
  if (!text) throw no_response(id);
  exchange->send(json_text(*text));
}

void Api::delete_response(const HttpRequest& request, const Exchange& exchange) {
  const std::string_view id = response_id(request);
  if (!background_ || !with_journal([&] { return background_->erase(request.key_name, id); })) throw no_response(id);
  DeletedResponse answer;
  answer.id = id;
  exchange->send(json_text(to_text(DeletedResponse::fields().write(answer))));
}

}  // namespace wick
