// The endpoints of responses that are computed in the background.
#include <algorithm>
#include <charconv>
#include <random>

#include "base/utf8.h"
#include "server/api/api.h"
#include "server/api/background/background_answers.h"
#include "server/api/background/background_queue.h"
#include "server/api/background/response_events.h"
#include "server/api/json_copy.h"

namespace wick {
namespace {

constexpr size_t kMostKeyBytes = 255;
constexpr int64_t kMostEvents = int64_t{1} << 53;
constexpr std::string_view kCancel = "/cancel", kInputItems = "/input_items";

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

void Api::accept_background(const HttpRequest& request, const Exchange& exchange, const ResponsesRequest& wanted,
                            std::string body, const std::string& input) {
  if (!background_) {
    throw RequestError("background", "background needs a journal: the server was started without --journal DIR",
                       "unsupported_parameter");
  }
  if (stopped_) throw RequestError({}, "The server is shutting down.", "shutting_down", 503);
  JournalEntry entry;
  entry.id = make_id("resp_");
  entry.owner = request.caller.key;
  entry.key = idempotency_key(request);
  entry.model = model_name(wanted.model);
  entry.seed = wanted.seed ? *wanted.seed : draw_seed();
  entry.body = std::make_shared<const std::string>(std::move(body));
  const std::string id = entry.id;
  auto [verdict, response] = with_journal([&] { return background_->accept(std::move(entry), wanted.stream); });
  switch (verdict) {
    case Journal::Verdict::kNew:
      if (!input.empty()) responses_->keep(id, {request.caller.key, request.caller.name, input, {}});
      [[fallthrough]];
    case Journal::Verdict::kKnown:
      if (!wanted.stream) return exchange->send(json_text(std::move(response)));
      return stream_response(request.caller, OrderedJson::parse(response)["id"].get<std::string>(), -1, exchange);
    case Journal::Verdict::kOtherBody:
      throw RequestError("Idempotency-Key", "another request came with this Idempotency-Key before",
                         "idempotency_key_reused", 422);
    case Journal::Verdict::kTooMany:
    case Journal::Verdict::kTooLarge: throw full_journal(verdict, background_->journal().options());
  }
}

RequestError Api::no_response(std::string_view id) const {
  const char* reason = background_ ? "" : ": without --journal DIR the server keeps only the last ones";
  return RequestError({}, cat("there is no response ", in_quotes(id), reason), "response_not_found", 404);
}

void Api::stream_response(const Caller& caller, std::string_view id, int64_t after, const Exchange& exchange) {
  using Following = BackgroundQueue::Following;
  const auto forgotten = [&] {
    return RequestError("starting_after", cat("the events of ", in_quotes(id), " behind number ", after,
                                              " are kept no more; ask for it without starting_after"));
  };
  if (const auto stored = responses_->find(caller.key, id); stored && !stored->output.empty()) {
    if (after >= 0) throw forgotten();
    replayed_events(OrderedJson::parse(stored->output))->follow(exchange, after);
    return;
  }
  switch (background_ ? background_->follow(caller.key, id, after, exchange) : Following::kUnknown) {
    case Following::kYes: return;
    case Following::kUnknown: throw no_response(id);
    case Following::kForgotten: throw forgotten();
    case Following::kWhole:
      throw RequestError("stream",
                         cat("the response ", in_quotes(id),
                             " is being computed, and can be streamed only when it was asked for with stream: true"),
                         "unsupported_value");
  }
}

void Api::stored_response(const HttpRequest& request, const Exchange& exchange) {
  bool streams = false;
  int64_t after = -1;
  for (const auto& [name, value] : request.query) {
    if (name == "stream") {
      check_word(name, value, {.words = {"true", "false"}});
      streams = value == "true";
    } else if (name == "starting_after") {
      const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), after);
      if (problem != std::errc() || end != value.data() + value.size() || after < 0 || after > kMostEvents) {
        throw RequestError(name, cat("starting_after is ", in_quotes(value), ", expected the number of an event"));
      }
    }
  }
  if (after >= 0 && !streams) throw RequestError("starting_after", "starting_after is set, but stream is not true");
  std::string_view id = response_id(request);
  if (id.ends_with(kInputItems)) {
    id.remove_suffix(kInputItems.size());
    return list_input_items(request, exchange, id);
  }
  if (streams) return stream_response(request.caller, id, after, exchange);
  if (const auto stored = responses_->find(request.caller.key, id); stored && !stored->output.empty()) {
    return exchange->send(json_text(stored->output));
  }
  const auto text = background_ ? background_->response(request.caller.key, id) : std::nullopt;
  if (!text) throw no_response(id);
  exchange->send(json_text(*text));
}

OrderedJson Api::conversation_of(const Caller& caller, const std::string& id) const {
  const auto stored = responses_->find(caller.key, id);
  if (!stored) {
    throw RequestError("previous_response_id",
                       cat("there is no response ", in_quotes(id), " to continue; the server keeps only the last ones"),
                       "previous_response_not_found", 404);
  }
  std::string response = stored->output;
  if (response.empty() && background_) response = background_->response(caller.key, id).value_or("");
  const OrderedJson output = OrderedJson::parse(response, nullptr, false);
  const std::string status = output.is_object() ? output.value("status", "") : "";
  if (status != "completed" && status != "incomplete") {
    throw RequestError(
        "previous_response_id",
        cat("the response ", in_quotes(id), " cannot be continued: it is ", status.empty() ? "gone" : status),
        "previous_response_not_found");
  }
  OrderedJson items = OrderedJson::parse(stored->input);
  items.insert(items.end(), output["output"].begin(), output["output"].end());
  return items;
}

void Api::list_input_items(const HttpRequest& request, const Exchange& exchange, std::string_view id) {
  constexpr int64_t kUsual = 20, kMost = 100;
  const auto stored = responses_->find(request.caller.key, id);
  if (!stored) throw no_response(id);
  int64_t limit = kUsual;
  bool is_ascending = false;
  std::string after;
  for (const auto& [name, value] : request.query) {
    if (name == "order") {
      check_word(name, value, {.words = {"asc", "desc"}});
      is_ascending = value == "asc";
    } else if (name == "limit") {
      const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), limit);
      if (problem != std::errc() || end != value.data() + value.size() || limit < 1 || limit > kMost) {
        throw RequestError(name, cat("limit is ", in_quotes(value), ", allowed is 1 to ", kMost));
      }
    } else if (name == "after") {
      after = value;
    }
  }
  OrderedJson items = OrderedJson::parse(stored->input);
  if (!is_ascending) std::reverse(items.begin(), items.end());
  auto begin = items.begin();
  if (!after.empty()) {
    begin = std::find_if(items.begin(), items.end(), [&](const OrderedJson& item) { return item["id"] == after; });
    if (begin == items.end()) throw RequestError("after", cat("there is no item ", in_quotes(after)));
    ++begin;
  }
  const auto end = begin + std::min<int64_t>(limit, items.end() - begin);
  const OrderedJson page(std::vector<OrderedJson>(begin, end));
  exchange->send(json_response({{"object", "list"},
                                {"data", page},
                                {"first_id", page.empty() ? OrderedJson() : page.front()["id"]},
                                {"last_id", page.empty() ? OrderedJson() : page.back()["id"]},
                                {"has_more", end != items.end()}}));
}

void Api::cancel_response(const HttpRequest& request, const Exchange& exchange) {
  std::string_view id = response_id(request);
  if (!id.ends_with(kCancel)) throw RequestError({}, cat("there is nothing to POST to at ", request.path), {}, 404);
  id.remove_suffix(kCancel.size());
  if (const auto stored = responses_->find(request.caller.key, id); stored && !stored->output.empty()) {
    throw RequestError({}, cat("the response ", in_quotes(id), " was not computed in the background and is over"));
  }
  if (!background_) throw no_response(id);
  const auto text = with_journal([&] { return background_->cancel(request.caller.key, id); });
  if (!text) throw no_response(id);
  exchange->send(json_text(*text));
}

void Api::delete_response(const HttpRequest& request, const Exchange& exchange) {
  const std::string_view id = response_id(request);
  const bool was_stored = responses_->erase(request.caller.key, id);
  const bool was_written = background_ && with_journal([&] { return background_->erase(request.caller.key, id); });
  if (!was_stored && !was_written) throw no_response(id);
  DeletedResponse answer;
  answer.id = id;
  exchange->send(json_text(to_text(DeletedResponse::fields().write(answer))));
}

}  // namespace wick
