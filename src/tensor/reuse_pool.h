#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace wick {

struct ReuseState;
struct ReuseBlock;

// Memory for work that makes and drops many tensors, as a graph does: while a ReuseScope is open on a thread, what its
// tensors give back is kept for the next ones of about the same size, and all of them together stay under a limit.
// Other than in an Arena, memory comes back tensor by tensor. Tensors may outlive the scope and the pool.
class ReusePool {
 public:
  // `limit`: bytes of all its tensors at one time; beyond it is Error(kOutOfMemory).
  explicit ReusePool(int64_t limit);
  ~ReusePool();
  ReusePool(const ReusePool&) = delete;
  ReusePool& operator=(const ReusePool&) = delete;

  // That of this thread's innermost scope, or null.
  static ReusePool* current();

  int64_t limit() const;
  int64_t bytes() const;       // of tensors that are there
  int64_t most_bytes() const;  // at one time, so far

  // For Storage: at least `bytes` behind a block, and back.
  ReuseBlock* take(size_t bytes);
  static std::byte* bytes_of(ReuseBlock* block);
  static void give_back(ReuseBlock* block);

 private:
  std::shared_ptr<ReuseState> state_;
};

class ReuseScope {
 public:
  explicit ReuseScope(ReusePool& pool);
  ~ReuseScope();
  ReuseScope(const ReuseScope&) = delete;
  ReuseScope& operator=(const ReuseScope&) = delete;

 private:
  ReusePool* outer_;
};

}  // namespace wick
