#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "engine/text/generate_result.h"

namespace wick {

enum class Priority : uint8_t { kLow, kNormal, kHigh, kCritical };
inline constexpr int kPriorities = 4;
std::string_view to_string(Priority priority);  // "low", ...
std::optional<Priority> priority_named(std::string_view name);

// Whom a task is for. Clients share an engine evenly, by weight, however much one of them asks for.
struct Client {
  std::string name;
  double weight = 1;
};

using EngineClock = std::chrono::steady_clock;
using RequestId = uint64_t;

class Runner;
struct Sequence;

// What an engine does for a task while it takes up what a pass computed.
class TaskHost {
 public:
  virtual ~TaskHost() = default;
  // A sequence that waits for its first pass.
  virtual Sequence& add(std::unique_ptr<Sequence> sequence) = 0;
  // One that goes on from where another is and shares all that has been computed.
  virtual Sequence& fork(const Sequence& from, std::unique_ptr<Sequence> sequence) = 0;
  virtual void drop(Sequence& sequence) = 0;
  // A token, a frame, a picture has come of a sequence.
  virtual void yielded(Sequence& sequence) = 0;
};

// Something that is generated step by step, from request to end: a text, the frames of a voice, a picture. It has one
// or more sequences, whose next positions the engine computes; what a pass makes of them goes to the task through its
// Runner. An engine calls a task's functions one at a time.
//
//   begin()      adds its first sequences
//   take         (between task and runner) what was computed; positions to go on with are appended to the sequence
//   settle()     behind each pass it had a part in: sequences are forked and dropped here
//   is_over()    it is gone
//   notify()     emits what is new to its listeners; while a GPU computes the next pass, if there is one
class Task {
 public:
  virtual ~Task() = default;

  // The runner of its passes; null: that of the engine's own model.
  virtual Runner* runner() const { return nullptr; }
  virtual Client client() const { return {}; }
  virtual Priority priority() const { return Priority::kNormal; }  // among those of its client
  virtual std::optional<EngineClock::time_point> deadline() const { return std::nullopt; }
  // Whether the numbers of its positions say all that their keys and values depend on, so that others may use them.
  virtual bool shares_prefix() const { return false; }
  // Only tasks of one salt share: what others have sent cannot be told from what is already computed.
  virtual std::string_view cache_salt() const { return {}; }
  // Whether somebody looks at each of its positions, who must see none of them twice.
  virtual bool is_watched() const { return false; }
  // Positions of a prompt in one pass, at most.
  virtual int64_t most_per_pass() const { return std::numeric_limits<int64_t>::max(); }
  // Where a pass that could go up to `end` ends, behind what is computed: positions that see each other cannot be cut.
  virtual int64_t cut(const Sequence&, int64_t end) const { return end; }
  // How many drafted tokens may be checked at most.
  virtual int64_t most_drafted(const Sequence&) const { return 0; }
  // Whether this pass will be followed by one over one more position, unless what comes of this one ends the sequence.
  virtual bool goes_on(const Sequence&) const { return false; }

  virtual void begin(TaskHost& host) = 0;
  virtual void settle(TaskHost& host) = 0;
  virtual bool is_over() const = 0;
  // Ended from outside: what there is is the result. Its sequences are dropped behind that.
  virtual void end(StopReason reason) = 0;
  virtual void fail(const Error& error) = 0;

  virtual void notify() {}
  // Who wants the same may listen to one task: `key` is equal for those that may be equal; 0: this one is for itself.
  virtual size_t key() const { return 0; }
  virtual bool try_join(Task& /*equal*/) { return false; }
  // Takes one of several listeners away; false when it is the only one.
  virtual bool try_leave(RequestId) { return false; }

  // The engine's:
  RequestId id = 0;
  bool is_open = false;  // it has the task
  EngineClock::time_point arrived;
};

}  // namespace wick
