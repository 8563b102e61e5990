#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "engine/request.h"

namespace wick {

// The listeners of one text request: several where equal requests came, each of which gets every event. Events are
// queued, and emitted in order by notify(). Not thread-safe.
class TextListeners {
 public:
  // `may_grow`: others may come later, who then get the events that were emitted already.
  explicit TextListeners(bool may_grow) : may_grow_(may_grow) {}

  void add(RequestId id, RequestListener&& listener);
  // The listener of several that goes, once it has got what is queued; empty when it is the only one.
  std::optional<RequestListener> remove(RequestId id);

  // `prompt`: the log-probabilities that were asked for; they must live longer.
  void add_progress(int64_t done, int64_t total, const std::vector<SampledToken>* prompt);
  void add_token(int64_t choice, Generation::Step step);
  void add_end(int64_t choice, std::string text, GenerateResult result);
  void add_error(Error error) { queued_.emplace_back(std::move(error)); }
  void notify();

 private:
  struct Progress {
    int64_t done, total;
    const std::vector<SampledToken>* prompt;
  };
  struct Token {
    int64_t choice;
    Generation::Step step;
  };
  struct End {
    int64_t choice;
    std::string text;
    GenerateResult result;
  };
  using Event = std::variant<Progress, Token, End, Error>;
  static RequestEvent to_request_event(const Event& from);

  bool may_grow_;
  std::vector<std::pair<RequestId, RequestListener>> listeners_;
  std::vector<Event> queued_, emitted_;
};

}  // namespace wick
