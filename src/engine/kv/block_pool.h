#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/kv_cache.h"

namespace wick {

// Which blocks of a key-value cache are in use, and by how many. A block that several share is copied by whoever wants
// to write to it. Tables may hold kNoBlock where a block was given up. Not thread-safe.
class BlockPool {
 public:
  explicit BlockPool(int64_t blocks);

  int64_t total() const { return static_cast<int64_t>(uses_.size()); }
  int64_t free() const { return static_cast<int64_t>(free_.size()); }

  // All blocks are free, whoever had them.
  void reset() noexcept;

  // A block with one user; empty when all are in use.
  std::optional<int32_t> try_take();
  // One more user of a block in use.
  void share(int32_t block);
  // One user less; without any, the block is free again. kNoBlock is passed over.
  void release(int32_t block);
  int32_t uses(int32_t block) const { return uses_[static_cast<size_t>(block)]; }

  // Blocks for positions up to `tokens` appended to a table. False, and the table as it was, when there are too few.
  bool try_grow(std::vector<int32_t>& table, int64_t tokens);
  // Gives back what lies behind the first `tokens` positions.
  void shrink(std::vector<int32_t>& table, int64_t tokens);
  // Gives back the blocks that lie wholly before a position, leaving kNoBlock; returns how many.
  int64_t give_up(std::vector<int32_t>& table, int64_t position);
  // Makes an entry of a table its own, to be written to: copies a block that others use too. False when none is free.
  bool try_own(std::vector<int32_t>& table, size_t index, const KvCache& cache);

  // The prefix index's part: one of a block's users, at most, is the index, which gives it up when asked.
  void share_with_index(int32_t block);
  void release_from_index(int32_t block);
  bool is_indexed(int32_t block) const { return indexed_[static_cast<size_t>(block)]; }
  int64_t idle() const { return idle_; }  // blocks whose only user is the index

  // Since the start.
  int64_t taken() const { return taken_; }
  int64_t freed() const { return freed_; }
  int64_t copied() const { return copied_; }

 private:
  void check_used(int32_t block, const char* what) const;
  bool is_idle(int32_t block) const { return uses(block) == 1 && is_indexed(block); }

  std::vector<int32_t> free_;  // the next one last
  std::vector<int32_t> uses_;
  std::vector<bool> indexed_;
  int64_t idle_ = 0;
  int64_t taken_ = 0, freed_ = 0, copied_ = 0;
};

}  // namespace wick
