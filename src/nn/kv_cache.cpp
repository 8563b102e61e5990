#include "nn/kv_cache.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/empty_pages.h"
#include "ops/index_select.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/permute.h"
#include "ops/reshape.h"
#include "ops/unsqueeze.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {

int64_t KvCache::bytes_per_block(std::span<const KvShape> layers, DType dtype) {
  int64_t bytes = 0;
  for (const KvShape& shape : layers) {
    bytes += kKvBlockTokens * shape.kv_heads * (shape.head_dim + shape.value_dim) * size_of(dtype);
    if (dtype == DType::kI8) bytes += kKvBlockTokens * shape.kv_heads * 2 * size_of(DType::kF32);
  }
  return bytes;
}

KvCache::KvCache(std::span<const KvShape> layers, int64_t blocks, DType dtype, Device device) : blocks_(blocks) {
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16 && dtype != DType::kI8) {
    throw Error(ErrorCode::kUnsupported,
                cat("keys and values cannot be kept in ", dtype, "; f32, f16, bf16 or i8 can"));
  }
  const ArenaPause keep;
  // Pages of their own on the host: a large cache costs nothing until its blocks are written.
  const auto make = [&](const Shape& shape, DType type) {
    return device == Device::cpu() ? empty_pages(shape, type) : empty(shape, type, device);
  };
  for (const KvShape& shape : layers) {
    KvBlocks layer;
    layer.key = make({blocks, shape.kv_heads, shape.head_dim, kKvBlockTokens}, dtype);
    layer.value = make({blocks, shape.kv_heads, kKvBlockTokens, shape.value_dim}, dtype);
    if (dtype == DType::kI8) {
      layer.key_scale = make({blocks, shape.kv_heads, kKvBlockTokens}, DType::kF32);
      layer.value_scale = make({blocks, shape.kv_heads, kKvBlockTokens}, DType::kF32);
    }
    layers_.push_back(std::move(layer));
  }
}

GatheredKv gather_kv(const KvBlocks& blocks, const Tensor& block_row, int64_t context) {
  const int64_t count = (context + kKvBlockTokens - 1) / kKvBlockTokens;
  const Tensor ids = narrow(block_row, 0, 0, count).to_dtype(DType::kI64);
  const int64_t heads = blocks.key.dim(1), dim = blocks.key.dim(2), value_dim = blocks.value.dim(3);
  Tensor key = index_select(blocks.key, 0, ids).to_dtype(DType::kF32);
  Tensor value = index_select(blocks.value, 0, ids).to_dtype(DType::kF32);
  if (blocks.key_scale.defined()) {
    key = mul(key, unsqueeze(index_select(blocks.key_scale, 0, ids), 2));
    value = mul(value, unsqueeze(index_select(blocks.value_scale, 0, ids), 3));
  }
  key = reshape(permute(key, {1, 2, 0, 3}), {heads, dim, count * kKvBlockTokens});
  value = reshape(permute(value, {1, 0, 2, 3}), {heads, count * kKvBlockTokens, value_dim});
  return {narrow(key, 2, 0, context), narrow(value, 1, 0, context)};
}

}  // namespace wick
