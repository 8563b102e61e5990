#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "engine/request.h"

namespace wick {

// Those who hear of one text request: several where equal requests came, who all hear everything. News are kept, and
// told in order when somebody has the time. Not thread-safe.
class TextListeners {
 public:
  // `may_grow`: others may come later, who then hear what was told already.
  explicit TextListeners(bool may_grow) : may_grow_(may_grow) {}

  void add(RequestId id, RequestListener listener);
  // The listener of several that goes, once it has heard what is new; empty when it is the only one.
  std::optional<RequestListener> remove(RequestId id);

  // `prompt`: the log-probabilities that were asked for; they must live longer.
  void add_progress(int64_t done, int64_t total, const std::vector<SampledToken>* prompt);
  void add_token(int64_t choice, Generation::Step step);
  void add_end(int64_t choice, std::string text, GenerateResult result);
  void add_error(Error error) { news_.emplace_back(std::move(error)); }
  void tell();

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
  using News = std::variant<Progress, Token, End, Error>;
  static RequestEvent event_of(const News& news);

  bool may_grow_;
  std::vector<std::pair<RequestId, RequestListener>> listeners_;
  std::vector<News> news_, told_;
};

}  // namespace wick
