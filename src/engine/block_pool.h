#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace wick {

// Which blocks of a key-value cache are in use, and by how many sequences. A block that several share is copied by
// whoever wants to write to it. Not thread-safe.
class BlockPool {
 public:
  explicit BlockPool(int64_t blocks);

  int64_t total() const { return static_cast<int64_t>(uses_.size()); }
  int64_t free() const { return static_cast<int64_t>(free_.size()); }

  // A block with one user; empty when all are in use.
  std::optional<int32_t> try_take();
  // One more user of a block in use.
  void share(int32_t block);
  // One user less; without any, the block is free again.
  void release(int32_t block);
  int32_t uses(int32_t block) const { return uses_[static_cast<size_t>(block)]; }

  // Blocks for positions up to `tokens` appended to a table. False, and the table as it was, when there are too few.
  bool try_grow(std::vector<int32_t>& table, int64_t tokens);
  // Gives back what lies behind the first `tokens` positions.
  void shrink(std::vector<int32_t>& table, int64_t tokens);

 private:
  std::vector<int32_t> free_;  // the next one last
  std::vector<int32_t> uses_;
};

}  // namespace wick
