#include "server/api/background/background_queue.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "server/api/api.h"
#include "server/api/background/response_events.h"
#include "server/api/json_copy.h"
#include "server/http/error_response.h"

namespace wick {
namespace {

constexpr std::chrono::milliseconds kTick{500}, kShortOfMemory{10};
constexpr size_t kMostRunning = 32;   // enough for a full batch, and there is room for clients that wait
constexpr int64_t kEventsBefore = 2;  // created, queued
constexpr size_t kMostEndedEvents = 256, kMostEndedBytes = size_t{64} << 20;  // kept for clients that come back

AnswerHead head_of(const JournalEntry& entry) {
  return {entry.id, entry.created, entry.model, system_fingerprint(entry.model)};
}

// The request as it was accepted, with the model and the seed that were chosen then.
ResponsesRequest request_of(const JournalEntry& entry) {
  ResponsesRequest request = ResponsesRequest::parse(Json::parse(*entry.body, "the body"));
  request.model = entry.model;
  request.seed = entry.seed;
  return request;
}

// The response as it is when it has no output. A request that cannot be read is failed by whoever computes it.
OrderedJson bare_response(const JournalEntry& entry, std::string_view status) {
  try {
    return response_without_output(head_of(entry), request_of(entry), status);
  } catch (const Error&) {
    return {{"id", entry.id},   {"object", "response"}, {"created_at", entry.created}, {"status", status},
            {"error", nullptr}, {"model", entry.model}, {"background", true},          {"output", OrderedJson::array()},
            {"usage", nullptr}};
  }
}

// What became of a request that got an error for an answer.
std::string failed_response(const JournalEntry& entry, const HttpResponse& error) {
  OrderedJson response = bare_response(entry, "failed");
  const OrderedJson body = OrderedJson::parse(error.body, nullptr, false);
  const OrderedJson detail = body.is_object() ? body.value("error", OrderedJson::object()) : OrderedJson::object();
  const OrderedJson code = detail.value("code", OrderedJson());
  response["error"] = {{"code", code.is_string() ? code : OrderedJson("server_error")},
                       {"message", detail.value("message", "the server failed")}};
  return to_text(response);
}

bool says(const HttpResponse& response, int status, std::string_view code) {
  if (response.status != status) return false;
  const OrderedJson body = OrderedJson::parse(response.body, nullptr, false);
  return body.is_object() && body.contains("error") && body["error"].value("code", OrderedJson()) == code;
}

bool is_streamed(const JournalEntry& entry) {
  try {
    return request_of(entry).stream;
  } catch (const Error&) {  // is failed by whoever computes it
    return false;
  }
}

std::string status_of(const std::string& response) { return OrderedJson::parse(response).value("status", "?"); }

}  // namespace

BackgroundQueue::BackgroundQueue(std::shared_ptr<Journal> journal, std::shared_ptr<Metrics> metrics,
                                 BackgroundHooks hooks)
    : journal_(std::move(journal)), metrics_(std::move(metrics)), hooks_(std::move(hooks)) {
  std::map<std::string, int64_t> unknown;
  for (const JournalEntry& entry : journal_->pending()) {
    if (is_streamed(entry)) add_events(entry);
    if (hooks_.has_model(entry.model)) {
      waiting_.push_back({entry.id, entry.owner});
    } else {
      ++unknown[entry.model];
    }
  }
  for (const auto& [model, count] : unknown) {
    complain(cat(count, " of the journal's requests wait for the model ", in_quotes(model), ", which is not offered"));
  }
  metrics_->before_text([weak = std::weak_ptr<Journal>(journal_), numbers = metrics_.get()] {
    const auto open = weak.lock();
    if (!open) return;
    const Journal::Size size = open->size();
    const auto set = [&](std::string_view name, std::string_view help, int64_t value) {
      numbers->gauge(name, help).set(static_cast<double>(value));
    };
    set("wick_journal_responses", "Responses in the journal.", size.entries);
    set("wick_journal_pending", "Those of them that are not over.", size.pending);
    set("wick_journal_bytes", "Of the journal's file.", size.file_bytes);
  });
  thread_ = std::thread([this] { loop(); });
}

void BackgroundQueue::stop() {
  is_stopping_ = true;
  inbox_->wake();
  if (thread_.joinable()) thread_.join();
  std::map<std::string, Running, std::less<>> running;
  {
    const std::lock_guard lock(mutex_);
    running.swap(running_);
  }
  for (const auto& [id, each] : running) each.exchange->close();
  const std::lock_guard lock(mutex_);
  for (const auto& [id, events] : events_) events->end();
}

void BackgroundQueue::complain(const std::string& sentence) {
  if (hooks_.say && sentence != last_complaint_) hooks_.say(sentence);
  last_complaint_ = sentence;
}

void BackgroundQueue::count_finished(const std::string& status) {
  metrics_->counter("wick_background_finished_total", "Responses that are over.", {{"status", status}}).add();
}

BackgroundQueue::Acceptance BackgroundQueue::accept(JournalEntry request, bool streams) {
  const auto [verdict, entry] = journal_->accept(std::move(request));
  if (verdict == Journal::Verdict::kKnown) return {verdict, text_of(entry)};
  if (verdict != Journal::Verdict::kNew) return {verdict, {}};
  metrics_->counter("wick_background_accepted_total", "Requests that were taken into the journal.").add();
  std::string text = to_text(bare_response(entry, "queued"));
  {
    const std::lock_guard lock(mutex_);
    if (streams && !is_stopping_) add_events(entry);
    waiting_.push_back({entry.id, entry.owner});
  }
  inbox_->wake();
  return {verdict, std::move(text)};
}

std::optional<JournalEntry> BackgroundQueue::find(std::string_view owner, std::string_view id) const {
  std::optional<JournalEntry> entry = journal_->find(id);
  if (entry && entry->owner != owner) return std::nullopt;
  return entry;
}

bool BackgroundQueue::is_running(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  return running_.contains(id);
}

std::string BackgroundQueue::text_of(const JournalEntry& entry) const {
  if (entry.is_finished()) return *entry.response;
  return to_text(bare_response(entry, is_running(entry.id) ? "in_progress" : "queued"));
}

std::optional<std::string> BackgroundQueue::response(std::string_view owner, std::string_view id) const {
  const auto entry = find(owner, id);
  if (!entry) return std::nullopt;
  return text_of(*entry);
}

std::optional<std::string> BackgroundQueue::cancel(std::string_view owner, std::string_view id) {
  const auto entry = find(owner, id);
  if (!entry) return std::nullopt;
  if (entry->is_finished()) return *entry->response;
  const std::string text = to_text(bare_response(*entry, "cancelled"));
  if (!journal_->finish({{entry->id, text}}).empty()) {
    count_finished("cancelled");
    let_go(id);
    end_events(entry->id, text);
  }
  return response(owner, id);  // another one may have been quicker
}

bool BackgroundQueue::erase(std::string_view owner, std::string_view id) {
  if (!find(owner, id) || !journal_->erase(id)) return false;
  let_go(id);
  drop_events(id);
  return true;
}

std::shared_ptr<ResponseEvents> BackgroundQueue::events_of(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(id);
  return found == events_.end() ? nullptr : found->second;
}

// With the lock held, or by the constructor.
void BackgroundQueue::add_events(const JournalEntry& entry) {
  auto events = std::make_shared<ResponseEvents>();
  const OrderedJson response = bare_response(entry, "queued");
  events->add({{"type", "response.created"}, {"response", response}});
  events->add({{"type", "response.queued"}, {"response", response}});
  events_[entry.id] = std::move(events);
}

// Once the response is on the disk.
void BackgroundQueue::end_events(const std::string& id, const std::string& response) {
  const auto events = events_of(id);
  if (!events) return;
  OrderedJson last = {{"type", cat("response.", status_of(response))}, {"response", OrderedJson::parse(response)}};
  if (!events->end_with(std::move(last))) return;
  const std::lock_guard lock(mutex_);
  ended_events_.push_back(id);
  size_t bytes = 0;
  for (const std::string& each : ended_events_) {
    if (const auto found = events_.find(each); found != events_.end()) bytes += found->second->bytes();
  }
  while (ended_events_.size() > kMostEndedEvents || bytes > kMostEndedBytes) {
    if (const auto oldest = events_.find(ended_events_.front()); oldest != events_.end()) {
      bytes -= oldest->second->bytes();
      events_.erase(oldest);
    }
    ended_events_.pop_front();
  }
}

void BackgroundQueue::drop_events(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto found = events_.find(id);
  if (found == events_.end()) return;
  found->second->end();
  events_.erase(found);
}

BackgroundQueue::Following BackgroundQueue::follow(std::string_view owner, std::string_view id, int64_t after,
                                                   const std::shared_ptr<HttpExchange>& exchange) const {
  const auto entry = find(owner, id);
  if (!entry) return Following::kUnknown;
  if (const auto events = events_of(id))
    return events->follow(exchange, after) ? Following::kYes : Following::kForgotten;
  if (!entry->is_finished()) return Following::kWhole;
  if (after >= 0) return Following::kForgotten;
  replayed_events(OrderedJson::parse(*entry->response))->follow(exchange, after);
  return Following::kYes;
}

void BackgroundQueue::let_go(std::string_view id) {
  std::shared_ptr<BackgroundExchange> exchange;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(waiting_, [&](const Waiting& each) { return each.id == id; });
    if (const auto found = running_.find(id); found != running_.end()) {
      exchange = std::move(found->second.exchange);
      running_.erase(found);
    }
  }
  if (exchange) exchange->close();
}

void BackgroundQueue::loop() {
  Answers answers;  // those that are not on the disk yet
  auto last_tidy = std::chrono::steady_clock::now();
  while (!is_stopping_) {
    try {
      begin_waiting();
      inbox_->wait(kTick, answers);
      settle(answers);
      const auto now = std::chrono::steady_clock::now();
      if (now - last_tidy < kTick) continue;
      last_tidy = now;
      tidy();
    } catch (const std::bad_alloc&) {  // what was not done is still there
      std::this_thread::sleep_for(kShortOfMemory);
    }
  }
}

// The engine had no room, or goes.
void BackgroundQueue::put_back(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = running_.find(id); found != running_.end()) {
    waiting_.push_front({id, found->second.owner});
    running_.erase(found);
  }
  not_before_ = std::chrono::steady_clock::now() + kTick;
}

// What cannot be written stays in `answers`, for the next time.
void BackgroundQueue::settle(Answers& answers) {
  std::vector<Journal::Result> results;
  std::map<std::string, std::string> statuses;
  std::erase_if(answers, [&](const Answer& answer) {
    const auto entry = journal_->find(answer.id);
    if (!is_running(answer.id) || !entry) return true;  // cancelled or deleted
    if (entry->is_finished()) {                         // just now; or by this, which then came no further
      end_events(answer.id, *entry->response);
      let_go(answer.id);
      return true;
    }
    const bool is_full = answer.response.status == 429;
    if (is_full || says(answer.response, 503, "shutting_down")) {
      put_back(answer.id);
      return true;
    }
    const bool is_good = answer.response.status == 200;
    Journal::Result result{answer.id, is_good ? answer.response.body : failed_response(*entry, answer.response)};
    statuses[answer.id] = status_of(result.response);
    results.push_back(std::move(result));
    return false;
  });
  if (answers.empty()) return;
  try {
    std::map<std::string, std::string> texts;
    for (const Journal::Result& each : results) {
      if (events_of(each.id)) texts[each.id] = each.response;
    }
    for (const std::string& id : journal_->finish(std::move(results))) {
      count_finished(statuses[id]);
      end_events(id, texts[id]);
    }
  } catch (const std::exception& error) {
    complain(cat("responses cannot be stored and are tried again: ", error.what()));
    return;
  }
  const std::lock_guard lock(mutex_);
  for (const Answer& answer : answers) running_.erase(answer.id);
  answers.clear();
}

// The first of the owner of whom the fewest are being computed.
std::deque<BackgroundQueue::Waiting>::iterator BackgroundQueue::next_waiting() {
  std::map<std::string_view, int64_t> count;
  for (const auto& [id, running] : running_) ++count[running.owner];
  auto next = waiting_.begin();
  for (auto each = waiting_.begin(); each != waiting_.end() && count[next->owner] > 0; ++each) {
    if (count[each->owner] < count[next->owner]) next = each;
  }
  return next;
}

void BackgroundQueue::begin_waiting() {
  while (!is_stopping_) {
    std::shared_ptr<BackgroundExchange> exchange;
    std::string id;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty() || running_.size() >= kMostRunning) return;
      if (std::chrono::steady_clock::now() < not_before_) return;
      const auto next = next_waiting();
      id = next->id;
      exchange = std::make_shared<BackgroundExchange>(id, inbox_);
      running_.emplace(id, Running{exchange, next->owner});
      waiting_.erase(next);
    }
    try {
      const auto entry = journal_->find(id);
      if (!entry || entry->is_finished()) {
        let_go(id);
        continue;
      }
      metrics_->counter("wick_background_started_total", "Responses that began to be computed.").add();
      BackgroundHooks::OnEvent on_event;
      if (auto events = events_of(id)) {
        events->rewind(kEventsBefore);
        on_event = [events](OrderedJson event) { events->add(std::move(event)); };
      }
      hooks_.compute(request_of(*entry), head_of(*entry), entry->owner, exchange, std::move(on_event));
    } catch (...) {  // where that throws, too, the exchange answers when it goes
      exchange->send(api_error_response(std::current_exception()));
    }
  }
}

void BackgroundQueue::tidy() {
  try {
    journal_->tidy();
  } catch (const std::exception& error) {
    complain(cat("the journal cannot be made smaller: ", error.what()));
  }
}

}  // namespace wick
