#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/sequence.h"

namespace wick {

// The requests that an engine has, and who is told about them. Equal requests are one with several listeners, who all
// hear everything. Not thread-safe.
class RequestBook {
 public:
  // Joins an equal request that is being computed and tells the listener what it missed; null when there is none.
  std::shared_ptr<OpenRequest> join(const EngineRequest& wanted, RequestId id, const RequestListener& listener);
  std::shared_ptr<OpenRequest> open(EngineRequest wanted, RequestId id, RequestListener listener,
                                    EngineClock::time_point arrived);
  // The request that this one is, or takes part in; null when it is over.
  std::shared_ptr<OpenRequest> find(RequestId id) const;
  // Takes one of several listeners away, telling it how far the answers had come.
  void leave(OpenRequest& request, RequestId id, const std::vector<Sequence*>& sequences);
  void close(const OpenRequest& request);

  static void tell(const OpenRequest& request, const RequestEvent& event);
  static void tell_progress(const OpenRequest& request);
  static void tell_token(OpenRequest& request, int64_t choice, const Answer::Step& step);
  static void tell_end(OpenRequest& request, int64_t choice, std::string text, GenerateResult result);

  size_t size() const { return requests_.size(); }

 private:
  std::unordered_map<RequestId, std::shared_ptr<OpenRequest>> requests_;     // by each listener's id
  std::unordered_multimap<size_t, std::shared_ptr<OpenRequest>> by_prompt_;  // those that may be joined
};

}  // namespace wick
