#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ops/layers/paged_attention.h"
#include "tensor/tensor.h"

namespace wick {

// What one attention layer keeps of a token.
struct KvShape {
  int64_t kv_heads = 0, head_dim = 0, value_dim = 0;
};

// The entry of a block table whose block has been given up: it lies before every window.
inline constexpr int32_t kNoBlock = -1;

// Blocks as they were, in host memory: one behind the other, each with all its layers.
struct SavedBlocks {
  int64_t blocks = 0;
  Tensor bytes;  // u8

  int64_t size() const { return bytes.defined() ? bytes.numel() : 0; }
};

// The keys and values of all layers, in blocks that sequences share out among themselves. The pages of a block are
// taken from the system when it is first written. A value: copies share the memory.
class KvCache {
 public:
  KvCache() = default;
  // f32, f16, bf16 or i8. Throws Error(kOutOfMemory) with the size asked for.
  KvCache(std::span<const KvShape> layers, int64_t blocks, DType dtype, Device device);

  const KvBlocks& layer(size_t i) const { return layers_[i]; }
  size_t layers() const { return layers_.size(); }
  int64_t blocks() const { return blocks_; }
  static int64_t bytes_per_block(std::span<const KvShape> layers, DType dtype);
  int64_t bytes_per_block() const;

  // These copy whole blocks of all layers, bit for bit, and throw Error(kInternal) for one that is not in the cache.
  void copy_block(int32_t from, int32_t to) const;
  // Entries of kNoBlock are passed over, here as there. Restoring needs as many blocks as were saved, any ones.
  SavedBlocks save_blocks(std::span<const int32_t> blocks) const;  // throws Error(kOutOfMemory)
  void restore_blocks(const SavedBlocks& saved, std::span<const int32_t> blocks) const;

 private:
  void check_block(int32_t block) const;

  std::vector<KvBlocks> layers_;
  int64_t blocks_ = 0;
};

// The keys [kv_heads, head_dim, context] and values [kv_heads, context, value_dim] of one sequence, in f32.
struct GatheredKv {
  Tensor key, value;
};
GatheredKv gather_kv(const KvBlocks& blocks, const Tensor& block_row, int64_t context);  // block_row: i32 [blocks]

}  // namespace wick
