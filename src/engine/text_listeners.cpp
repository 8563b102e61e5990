#include "engine/text_listeners.h"

#include <algorithm>

namespace wick {

RequestEvent TextListeners::event_of(const News& news) {
  RequestEvent event{RequestEvent::Kind::kPrompt};
  if (const auto* progress = std::get_if<Progress>(&news)) {
    event.done = progress->done;
    event.total = progress->total;
    event.prompt = progress->prompt;
  } else if (const auto* token = std::get_if<Token>(&news)) {
    event.kind = RequestEvent::Kind::kToken;
    event.choice = token->choice;
    event.token = &token->step.sampled;
    event.text = token->step.text;
  } else if (const auto* end = std::get_if<End>(&news)) {
    event.kind = RequestEvent::Kind::kEnd;
    event.choice = end->choice;
    event.text = end->text;
    event.result = &end->result;
  } else {
    event.kind = RequestEvent::Kind::kError;
    event.error = &std::get<Error>(news);
  }
  return event;
}

void TextListeners::add(RequestId id, RequestListener listener) {
  for (const News& news : told_) listener(event_of(news));
  listeners_.emplace_back(id, std::move(listener));
}

std::optional<RequestListener> TextListeners::remove(RequestId id) {
  if (listeners_.size() < 2) return std::nullopt;
  tell();
  const auto mine =
      std::find_if(listeners_.begin(), listeners_.end(), [&](const auto& each) { return each.first == id; });
  RequestListener listener = std::move(mine->second);
  listeners_.erase(mine);
  return listener;
}

void TextListeners::add_progress(int64_t done, int64_t total, const std::vector<SampledToken>* prompt) {
  news_.emplace_back(Progress{done, total, prompt});
}

void TextListeners::add_token(int64_t choice, Generation::Step step) {
  news_.emplace_back(Token{choice, std::move(step)});
}

void TextListeners::add_end(int64_t choice, std::string text, GenerateResult result) {
  news_.emplace_back(End{choice, std::move(text), std::move(result)});
}

void TextListeners::tell() {
  for (News& news : news_) {
    const RequestEvent event = event_of(news);
    for (const auto& [id, listener] : listeners_) listener(event);
    if (may_grow_) told_.push_back(std::move(news));
  }
  news_.clear();
}

}  // namespace wick
