#include "tensor/reuse_pool.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <new>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "tensor/storage.h"

namespace wick {

std::byte* allocate_host(size_t bytes);  // storage.cpp

struct alignas(kStorageAlignment) ReuseBlock {
  std::shared_ptr<ReuseState> state;  // while it is in use
  size_t capacity = 0;
  size_t bucket = 0;
};

namespace {

constexpr size_t kSteps = 8;  // sizes between powers of two
constexpr size_t kLeast = 512, kLeastBits = 9, kBuckets = (64 - kLeastBits) * kSteps;
constexpr int64_t kKeep = int64_t{16} << 20;  // free bytes that are always kept

thread_local ReusePool* current_pool = nullptr;

// The smallest size of a bucket that holds `bytes`, and which bucket it is.
struct Bucket {
  size_t size, index;
};
Bucket bucket_for(size_t bytes) {
  if (bytes <= kLeast) return {kLeast, 0};
  const size_t power = static_cast<size_t>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes <= 2^(power + 1)
  const size_t step = (size_t{1} << power) / kSteps;
  const size_t steps = (bytes - (size_t{1} << power) + step - 1) / step;  // 1 to kSteps
  return {(size_t{1} << power) + steps * step, (power - kLeastBits) * kSteps + steps};
}

void free_block(ReuseBlock* block) {
  block->~ReuseBlock();
  std::free(block);
}

}  // namespace

struct ReuseState {
  std::mutex mutex;
  int64_t limit = 0, used = 0, most = 0, free = 0;
  bool closed = false;
  std::array<std::vector<ReuseBlock*>, kBuckets + 1> buckets;

  void drop_free() {
    for (auto& bucket : buckets) {
      for (ReuseBlock* block : bucket) free_block(block);
      bucket.clear();
    }
    free = 0;
  }
};

ReusePool::ReusePool(int64_t limit) : state_(std::make_shared<ReuseState>()) { state_->limit = limit; }

ReusePool::~ReusePool() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  state_->drop_free();
}

ReusePool* ReusePool::current() { return current_pool; }

int64_t ReusePool::limit() const { return state_->limit; }
int64_t ReusePool::bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->used;
}
int64_t ReusePool::most_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->most;
}

ReuseBlock* ReusePool::take(size_t bytes) {
  ReuseState& state = *state_;
  const std::lock_guard lock(state.mutex);
  constexpr size_t kMost = size_t{1} << (8 * sizeof(size_t) - 3);
  const auto too_much = [&] {
    return Error(ErrorCode::kOutOfMemory, cat("out of memory: ", bytes, " bytes more than the ", state.used,
                                              " in use; the limit is ", state.limit));
  };
  if (bytes > kMost) throw too_much();
  const Bucket bucket = bucket_for(bytes);
  const auto size = static_cast<int64_t>(bucket.size);
  if (size > state.limit - state.used) throw too_much();
  auto& free = state.buckets[bucket.index];
  ReuseBlock* block = nullptr;
  if (!free.empty()) {
    block = free.back();
    free.pop_back();
    state.free -= size;
  } else {
    if (size > state.limit - state.used - state.free) state.drop_free();
    block = new (allocate_host(sizeof(ReuseBlock) + bucket.size)) ReuseBlock();
    block->capacity = bucket.size;
    block->bucket = bucket.index;
  }
  block->state = state_;
  state.used += size;
  state.most = std::max(state.most, state.used);
  return block;
}

std::byte* ReusePool::bytes_of(ReuseBlock* block) { return reinterpret_cast<std::byte*>(block) + sizeof(ReuseBlock); }

void ReusePool::give_back(ReuseBlock* block) {
  const std::shared_ptr<ReuseState> state = std::move(block->state);
  const std::lock_guard lock(state->mutex);
  const auto size = static_cast<int64_t>(block->capacity);
  state->used -= size;
  // No more lies free than was ever needed.
  if (state->closed || state->free + size > std::max(state->most, kKeep)) return free_block(block);
  state->buckets[block->bucket].push_back(block);
  state->free += size;
}

ReuseScope::ReuseScope(ReusePool& pool) : outer_(current_pool) { current_pool = &pool; }
ReuseScope::~ReuseScope() { current_pool = outer_; }

}  // namespace wick
