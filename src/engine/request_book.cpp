#include "engine/request_book.h"

#include <algorithm>

namespace wick {
namespace {

size_t hash_of(const std::vector<int32_t>& prompt) {
  size_t hash = prompt.size();
  for (const int32_t token : prompt) hash = (hash ^ static_cast<uint32_t>(token)) * 0x9E3779B97F4A7C15u;
  return hash;
}

bool is_equal(const EngineRequest& a, const EngineRequest& b) {
  return a.choices == b.choices && a.priority == b.priority && a.prompt_logprobs == b.prompt_logprobs &&
         a.params == b.params && a.prompt == b.prompt;
}

RequestEvent progress_of(const OpenRequest& request) {
  RequestEvent event{RequestEvent::Kind::kPrompt};
  event.done = request.prompt_done;
  event.total = static_cast<int64_t>(request.wanted.prompt.size());
  if (request.wanted.prompt_logprobs && event.done == event.total) event.prompt = &request.prompt_choices;
  return event;
}

void call_all(const OpenRequest& request, const RequestEvent& event) {
  for (const OpenRequest::Listener& listener : request.listeners) listener.call(event);
}

}  // namespace

// What hooks see or change is for one listener, and a deadline is one's own.
bool RequestBook::may_be_joined(const EngineRequest& request) const {
  return joins_equal_ && request.hooks.empty() && !request.deadline && !request.score;
}

std::shared_ptr<OpenRequest> RequestBook::join(const EngineRequest& wanted, RequestId id,
                                               const RequestListener& listener) {
  if (!may_be_joined(wanted)) return nullptr;
  const auto [first, last] = by_prompt_.equal_range(hash_of(wanted.prompt));
  const auto found = std::find_if(first, last, [&](const auto& each) { return is_equal(each.second->wanted, wanted); });
  if (found == last) return nullptr;
  const std::shared_ptr<OpenRequest> request = found->second;
  if (request->prompt_done > 0) listener(progress_of(*request));
  for (const OpenRequest::Told& told : request->told) {
    RequestEvent event{RequestEvent::Kind::kToken, told.choice};
    event.token = &told.token;
    event.text = told.text;
    listener(event);
  }
  for (const OpenRequest::Ended& ended : request->ended) {
    RequestEvent event{RequestEvent::Kind::kEnd, ended.choice};
    event.text = ended.text;
    event.result = &ended.result;
    listener(event);
  }
  request->listeners.push_back({id, listener});
  requests_.emplace(id, request);
  return request;
}

std::shared_ptr<OpenRequest> RequestBook::open(EngineRequest wanted, RequestId id, RequestListener listener,
                                               EngineClock::time_point arrived) {
  auto request = std::make_shared<OpenRequest>();
  request->id = id;
  request->wanted = std::move(wanted);
  request->arrived = arrived;
  request->listeners.push_back({id, std::move(listener)});
  request->choices_left = request->wanted.choices;
  requests_.emplace(id, request);
  if (may_be_joined(request->wanted)) by_prompt_.emplace(hash_of(request->wanted.prompt), request);
  return request;
}

std::shared_ptr<OpenRequest> RequestBook::find(RequestId id) const {
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : found->second;
}

void RequestBook::leave(OpenRequest& request, RequestId id, const std::vector<Sequence*>& sequences) {
  tell_news();
  const auto mine = std::find_if(request.listeners.begin(), request.listeners.end(),
                                 [&](const OpenRequest::Listener& each) { return each.id == id; });
  const RequestListener listener = std::move(mine->call);
  request.listeners.erase(mine);
  requests_.erase(id);
  for (const Sequence* sequence : sequences) {
    GenerateResult result = sequence->result;
    result.tokens = sequence->answer->tokens();
    result.text = sequence->answer->text();
    result.reason = StopReason::kCancelled;
    RequestEvent event{RequestEvent::Kind::kEnd, sequence->choice};
    event.result = &result;
    listener(event);
  }
}

void RequestBook::close(const OpenRequest& request) {
  for (const OpenRequest::Listener& listener : request.listeners) requests_.erase(listener.id);
  const auto [first, last] = by_prompt_.equal_range(hash_of(request.wanted.prompt));
  const auto found = std::find_if(first, last, [&](const auto& each) { return each.second.get() == &request; });
  if (found != last) by_prompt_.erase(found);
}

void RequestBook::add_progress(std::shared_ptr<OpenRequest> request) {
  news_.push_back({std::move(request), Progress{}});
}

void RequestBook::add_token(std::shared_ptr<OpenRequest> request, int64_t choice, Answer::Step step) {
  news_.push_back({std::move(request), Token{choice, std::move(step)}});
}

void RequestBook::add_end(std::shared_ptr<OpenRequest> request, int64_t choice, std::string text,
                          GenerateResult result) {
  news_.push_back({std::move(request), End{choice, std::move(text), std::move(result)}});
}

void RequestBook::add_error(std::shared_ptr<OpenRequest> request, Error error) {
  news_.push_back({std::move(request), std::move(error)});
}

void RequestBook::tell_news() {
  for (News& news : news_) {
    std::visit([&](auto& what) { tell(*news.request, what); }, news.what);
  }
  news_.clear();
}

void RequestBook::tell(OpenRequest& request, Progress) const { call_all(request, progress_of(request)); }

void RequestBook::tell(OpenRequest& request, Token& token) const {
  RequestEvent event{RequestEvent::Kind::kToken, token.choice};
  event.token = &token.step.choice;
  event.text = token.step.text;
  call_all(request, event);
  if (!may_be_joined(request.wanted)) return;
  request.told.push_back({token.choice, std::move(token.step.choice), std::move(token.step.text)});
}

void RequestBook::tell(OpenRequest& request, End& end) const {
  RequestEvent event{RequestEvent::Kind::kEnd, end.choice};
  event.text = end.text;
  event.result = &end.result;
  call_all(request, event);
  if (!may_be_joined(request.wanted)) return;
  request.ended.push_back({end.choice, std::move(end.text), std::move(end.result)});
}

void RequestBook::tell(OpenRequest& request, const Error& error) const {
  RequestEvent event{RequestEvent::Kind::kError};
  event.error = &error;
  call_all(request, event);
}

}  // namespace wick
