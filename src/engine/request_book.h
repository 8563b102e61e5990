#pragma once

#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

#include "engine/sequence.h"

namespace wick {

// The requests that an engine has, and who is told about them. Equal requests are one with several listeners, who all
// hear everything. News are kept, and told in order when somebody has the time. Not thread-safe.
class RequestBook {
 public:
  explicit RequestBook(bool joins_equal = true) : joins_equal_(joins_equal) {}

  // Joins an equal request that is being computed and tells the listener what it missed; null when there is none.
  std::shared_ptr<OpenRequest> join(const EngineRequest& wanted, RequestId id, const RequestListener& listener);
  std::shared_ptr<OpenRequest> open(EngineRequest wanted, RequestId id, RequestListener listener,
                                    EngineClock::time_point arrived);
  // The request that this one is, or takes part in; null when it is over.
  std::shared_ptr<OpenRequest> find(RequestId id) const;
  // Takes one of several listeners away, telling it how far the answers had come.
  void leave(OpenRequest& request, RequestId id, const std::vector<Sequence*>& sequences);
  void close(const OpenRequest& request);

  void add_progress(std::shared_ptr<OpenRequest> request);
  void add_token(std::shared_ptr<OpenRequest> request, int64_t choice, Answer::Step step);
  void add_end(std::shared_ptr<OpenRequest> request, int64_t choice, std::string text, GenerateResult result);
  void add_error(std::shared_ptr<OpenRequest> request, Error error);
  void tell_news();

  size_t size() const { return requests_.size(); }

 private:
  struct Progress {};
  struct Token {
    int64_t choice;
    Answer::Step step;
  };
  struct End {
    int64_t choice;
    std::string text;
    GenerateResult result;
  };
  struct News {
    std::shared_ptr<OpenRequest> request;
    std::variant<Progress, Token, End, Error> what;
  };
  bool may_be_joined(const EngineRequest& request) const;
  void tell(OpenRequest& request, Progress) const;
  void tell(OpenRequest& request, Token& token) const;
  void tell(OpenRequest& request, End& end) const;
  void tell(OpenRequest& request, const Error& error) const;

  bool joins_equal_;
  std::vector<News> news_;
  std::unordered_map<RequestId, std::shared_ptr<OpenRequest>> requests_;     // by each listener's id
  std::unordered_multimap<size_t, std::shared_ptr<OpenRequest>> by_prompt_;  // those that may be joined
};

}  // namespace wick
