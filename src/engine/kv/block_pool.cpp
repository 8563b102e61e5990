#include "engine/kv/block_pool.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "nn/kv_blocks_for.h"

namespace wick {
namespace {

size_t blocks_for(int64_t tokens) { return static_cast<size_t>(kv_blocks_for(tokens)); }

}  // namespace

BlockPool::BlockPool(int64_t blocks) : uses_(static_cast<size_t>(blocks)), indexed_(static_cast<size_t>(blocks)) {
  free_.reserve(uses_.size());
  reset();
}

void BlockPool::reset() noexcept {
  free_.clear();
  for (auto block = static_cast<int32_t>(uses_.size()); block > 0; --block) free_.push_back(block - 1);
  std::fill(uses_.begin(), uses_.end(), 0);
  std::fill(indexed_.begin(), indexed_.end(), false);
  idle_ = 0;
  freed_ = taken_;
}

void BlockPool::check_used(int32_t block, const char* what) const {
  if (block < 0 || block >= total() || uses(block) == 0) {
    throw Error(ErrorCode::kInternal, cat("block ", block, " is ", what, ", but not in use"));
  }
}

std::optional<int32_t> BlockPool::try_take() {
  if (free_.empty()) return std::nullopt;
  const int32_t block = free_.back();
  free_.pop_back();
  uses_[static_cast<size_t>(block)] = 1;
  ++taken_;
  return block;
}

void BlockPool::share(int32_t block) {
  check_used(block, "shared");
  if (is_idle(block)) --idle_;
  ++uses_[static_cast<size_t>(block)];
}

void BlockPool::release(int32_t block) {
  if (block == kNoBlock) return;
  check_used(block, "released");
  if (is_idle(block)) throw Error(ErrorCode::kInternal, cat("block ", block, " is released, but the index's alone"));
  if (--uses_[static_cast<size_t>(block)] == 0) {
    free_.push_back(block);
    ++freed_;
  }
  if (is_idle(block)) ++idle_;
}

bool BlockPool::try_grow(std::vector<int32_t>& table, int64_t tokens) {
  const size_t wanted = blocks_for(tokens);
  if (wanted > table.size() + free_.size()) return false;
  while (table.size() < wanted) table.push_back(*try_take());
  return true;
}

void BlockPool::shrink(std::vector<int32_t>& table, int64_t tokens) {
  while (table.size() > blocks_for(tokens)) {
    release(table.back());
    table.pop_back();
  }
}

int64_t BlockPool::give_up(std::vector<int32_t>& table, int64_t position) {
  int64_t count = 0;
  auto index = std::min(static_cast<size_t>(std::max<int64_t>(position, 0) / kKvBlockTokens), table.size());
  while (index > 0 && table[index - 1] != kNoBlock) {
    release(table[--index]);
    table[index] = kNoBlock;
    ++count;
  }
  return count;
}

bool BlockPool::try_own(std::vector<int32_t>& table, size_t index, const KvCache& cache) {
  const int32_t shared = table.at(index);
  check_used(shared, "to be written to");
  if (uses(shared) == 1) return true;
  const std::optional<int32_t> own = try_take();
  if (!own) return false;
  if (cache.layers() > 0) cache.copy_block(shared, *own);
  release(shared);
  table[index] = *own;
  ++copied_;
  return true;
}

void BlockPool::share_with_index(int32_t block) {
  check_used(block, "indexed");
  if (is_indexed(block)) throw Error(ErrorCode::kInternal, cat("block ", block, " is indexed twice"));
  ++uses_[static_cast<size_t>(block)];
  indexed_[static_cast<size_t>(block)] = true;
}

void BlockPool::release_from_index(int32_t block) {
  check_used(block, "dropped from the index");
  if (!is_indexed(block)) throw Error(ErrorCode::kInternal, cat("block ", block, " is not indexed"));
  if (is_idle(block)) --idle_;
  indexed_[static_cast<size_t>(block)] = false;
  release(block);
}

}  // namespace wick
