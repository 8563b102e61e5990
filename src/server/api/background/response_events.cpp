#include "server/api/background/response_events.h"

#include <algorithm>
#include <utility>

#include "server/api/generation/answer_writer.h"
#include "server/api/json_copy.h"

namespace wick {

void ResponseEvents::add(OrderedJson event) {
  const std::lock_guard lock(mutex_);
  if (!has_ended_) append(std::move(event));
}

bool ResponseEvents::end_with(OrderedJson last) {
  const std::lock_guard lock(mutex_);
  if (has_ended_) return false;
  append(std::move(last));
  finish();
  return true;
}

void ResponseEvents::append(OrderedJson event) {
  const int64_t number = next_++;
  if (number < first_ + std::ssize(events_)) return;
  event["sequence_number"] = number;
  const std::string text =
      cat("event: ", event["type"].get_ref<const std::string&>(), "\ndata: ", to_text(event), "\n\n");
  if (bytes_ + text.size() > most_bytes_) {
    events_.clear();
    first_ = number;
    bytes_ = 0;
  }
  events_.push_back(text);
  bytes_ += text.size();
  std::erase_if(followers_, [](const auto& each) { return each.first->is_closed(); });
  for (const auto& [exchange, next] : followers_) {
    if (number >= next) exchange->write(text);
  }
}

void ResponseEvents::rewind(int64_t number) {
  const std::lock_guard lock(mutex_);
  next_ = number;
}

void ResponseEvents::end() {
  const std::lock_guard lock(mutex_);
  finish();
}

void ResponseEvents::finish() {
  has_ended_ = true;
  for (const auto& [exchange, next] : followers_) exchange->finish();
  followers_.clear();
}

bool ResponseEvents::follow(std::shared_ptr<HttpExchange> exchange, int64_t after) {
  const std::lock_guard lock(mutex_);
  const int64_t next = after + 1;
  if (next < first_) return false;
  HttpResponse head = event_stream_head();
  for (auto i = static_cast<size_t>(next - first_); i < events_.size(); ++i) head.body += events_[i];
  exchange->begin(std::move(head));
  if (has_ended_) {
    exchange->finish();
  } else {
    followers_.emplace_back(std::move(exchange), next);
  }
  return true;
}

bool ResponseEvents::has_ended() const {
  const std::lock_guard lock(mutex_);
  return has_ended_;
}

size_t ResponseEvents::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

namespace {

// One part of an item, as if it had come at once.
void add_part(ResponseEvents& events, const OrderedJson& item, size_t index, size_t place) {
  const OrderedJson& part = item["content"][place];
  const bool is_message = item["type"] == "message";
  const std::string kind = is_message ? "response.output_text" : "response.reasoning_text";
  const auto event = [&](const std::string& type, OrderedJson more) {
    OrderedJson all = {{"type", type}, {"item_id", item["id"]}, {"output_index", index}, {"content_index", place}};
    all.update(more);
    events.add(std::move(all));
  };
  OrderedJson empty = part;
  empty["text"] = "";
  if (is_message) empty["logprobs"] = OrderedJson::array();
  event("response.content_part.added", {{"part", std::move(empty)}});
  const auto with_logprobs = [&](const char* name) {
    OrderedJson more = {{name, part["text"]}};
    if (is_message) more["logprobs"] = part.value("logprobs", OrderedJson::array());
    return more;
  };
  event(kind + ".delta", with_logprobs("delta"));
  event(kind + ".done", with_logprobs("text"));
  event("response.content_part.done", {{"part", part}});
}

void add_item(ResponseEvents& events, const OrderedJson& item, size_t index) {
  const bool is_call = item["type"] == "function_call";
  OrderedJson begun = item;
  if (begun.contains("status")) begun["status"] = "in_progress";
  begun[is_call ? "arguments" : "content"] = is_call ? OrderedJson("") : OrderedJson::array();
  events.add({{"type", "response.output_item.added"}, {"output_index", index}, {"item", std::move(begun)}});
  if (is_call) {
    OrderedJson head = {{"type", ""}, {"item_id", item["id"]}, {"output_index", index}};
    head["type"] = "response.function_call_arguments.delta";
    head["delta"] = item["arguments"];
    events.add(head);
    head.erase("delta");
    head["type"] = "response.function_call_arguments.done";
    head["name"] = item["name"];
    head["arguments"] = item["arguments"];
    events.add(std::move(head));
  } else {
    for (size_t part = 0; part < item["content"].size(); ++part) add_part(events, item, index, part);
  }
  events.add({{"type", "response.output_item.done"}, {"output_index", index}, {"item", item}});
}

}  // namespace

std::unique_ptr<ResponseEvents> replayed_events(const OrderedJson& response) {
  auto events = std::make_unique<ResponseEvents>(SIZE_MAX);
  OrderedJson begun = response;
  begun["status"] = "in_progress";
  begun["output"] = OrderedJson::array();
  begun["usage"] = begun["error"] = begun["incomplete_details"] = nullptr;
  events->add({{"type", "response.created"}, {"response", begun}});
  events->add({{"type", "response.in_progress"}, {"response", std::move(begun)}});
  for (size_t i = 0; i < response["output"].size(); ++i) add_item(*events, response["output"][i], i);
  events->add({{"type", cat("response.", response["status"].get<std::string>())}, {"response", response}});
  events->end();
  return events;
}

}  // namespace wick
