#include "engine/text/text_listeners.h"

#include <algorithm>

namespace wick {

RequestEvent TextListeners::to_request_event(const Event& from) {
  RequestEvent event{RequestEvent::Kind::kPrompt};
  if (const auto* progress = std::get_if<Progress>(&from)) {
    event.done = progress->done;
    event.total = progress->total;
    event.prompt = progress->prompt;
  } else if (const auto* token = std::get_if<Token>(&from)) {
    event.kind = RequestEvent::Kind::kToken;
    event.choice = token->choice;
    event.token = &token->step.sampled;
    event.text = token->step.text;
  } else if (const auto* end = std::get_if<End>(&from)) {
    event.kind = RequestEvent::Kind::kEnd;
    event.choice = end->choice;
    event.text = end->text;
    event.result = &end->result;
  } else {
    event.kind = RequestEvent::Kind::kError;
    event.error = &std::get<Error>(from);
  }
  return event;
}

void TextListeners::add(RequestId id, RequestListener&& listener) {
  listeners_.reserve(listeners_.size() + 1);  // where there is no memory, the caller still has it
  for (const Event& event : emitted_) listener(to_request_event(event));
  listeners_.emplace_back(id, std::move(listener));
}

std::optional<RequestListener> TextListeners::remove(RequestId id) {
  if (listeners_.size() < 2) return std::nullopt;
  notify();
  const auto mine =
      std::find_if(listeners_.begin(), listeners_.end(), [&](const auto& each) { return each.first == id; });
  RequestListener listener = std::move(mine->second);
  listeners_.erase(mine);
  return listener;
}

void TextListeners::add_progress(int64_t done, int64_t total, const std::vector<SampledToken>* prompt) {
  queued_.emplace_back(Progress{done, total, prompt});
}

void TextListeners::add_token(int64_t choice, Generation::Step step) {
  queued_.emplace_back(Token{choice, std::move(step)});
}

void TextListeners::add_end(int64_t choice, std::string text, GenerateResult result) {
  queued_.emplace_back(End{choice, std::move(text), std::move(result)});
}

void TextListeners::notify() {
  if (may_grow_) emitted_.reserve(emitted_.size() + queued_.size());  // no event is emitted twice for want of memory
  for (Event& event : queued_) {
    const RequestEvent emitted = to_request_event(event);
    for (const auto& [id, listener] : listeners_) listener(emitted);
    if (may_grow_) emitted_.push_back(std::move(event));
  }
  queued_.clear();
}

}  // namespace wick
