#include "engine/block_pool.h"

#include "base/error.h"
#include "base/text.h"
#include "ops/paged_attention.h"

namespace wick {
namespace {

size_t blocks_for(int64_t tokens) { return static_cast<size_t>((tokens + kKvBlockTokens - 1) / kKvBlockTokens); }

}  // namespace

BlockPool::BlockPool(int64_t blocks) : uses_(static_cast<size_t>(blocks)) {
  for (auto block = static_cast<int32_t>(blocks); block > 0; --block) free_.push_back(block - 1);
}

std::optional<int32_t> BlockPool::try_take() {
  if (free_.empty()) return std::nullopt;
  const int32_t block = free_.back();
  free_.pop_back();
  uses_[static_cast<size_t>(block)] = 1;
  return block;
}

void BlockPool::share(int32_t block) {
  if (block < 0 || block >= total() || uses(block) == 0) {
    throw Error(ErrorCode::kInternal, cat("block ", block, " is shared, but not in use"));
  }
  ++uses_[static_cast<size_t>(block)];
}

void BlockPool::release(int32_t block) {
  if (block < 0 || block >= total() || uses(block) == 0) {
    throw Error(ErrorCode::kInternal, cat("block ", block, " is released, but not in use"));
  }
  if (--uses_[static_cast<size_t>(block)] == 0) free_.push_back(block);
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

}  // namespace wick
