#include "nn/kv_cache.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "formats/empty_pages.h"
#include "nn/kv_blocks_for.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// A block's bytes of one tensor after the other: visit(device, address, size).
template <typename Visit>
void each_part(std::span<const KvBlocks> layers, int32_t block, Visit visit) {
  for (const KvBlocks& layer : layers) {
    for (const Tensor* part : {&layer.key, &layer.value, &layer.key_scale, &layer.value_scale}) {
      if (!part->defined()) continue;
      const auto size = static_cast<size_t>(bytes_of(part->dtype(), part->strides()[0]));
      visit(part->device(), part->raw() + static_cast<size_t>(block) * size, size);
    }
  }
}

int64_t used(std::span<const int32_t> table) {
  return static_cast<int64_t>(table.size()) - std::count(table.begin(), table.end(), kNoBlock);
}

}  // namespace

int64_t KvCache::bytes_per_block(std::span<const KvShape> layers, DType dtype) {
  int64_t bytes = 0;
  for (const KvShape& shape : layers) {
    bytes += kKvBlockTokens * shape.kv_heads * (shape.head_dim + shape.value_dim) * size_of(dtype);
    if (dtype == DType::kI8) bytes += kKvBlockTokens * shape.kv_heads * 2 * size_of(DType::kF32);
  }
  return bytes;
}

int64_t KvCache::bytes_per_block() const {
  int64_t bytes = 0;
  each_part(layers_, 0, [&](Device, std::byte*, size_t size) { bytes += static_cast<int64_t>(size); });
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

void KvCache::check_block(int32_t block) const {
  if (block < 0 || block >= blocks_) {
    throw Error(ErrorCode::kInternal, cat("block ", block, " is to be copied, but the cache has ", blocks_));
  }
}

void KvCache::copy_block(int32_t from, int32_t to) const {
  check_block(from);
  check_block(to);
  if (from == to) return;
  each_part(layers_, to, [&](Device device, std::byte* target, size_t size) {
    const std::byte* source = target - static_cast<ptrdiff_t>(size) * (to - from);
    if (device.is_host()) {
      std::memcpy(target, source, size);
    } else {
      device_memory(device).copy_within(device, target, source, size);
    }
  });
}

SavedBlocks KvCache::save_blocks(std::span<const int32_t> blocks) const {
  const ArenaPause keep;
  SavedBlocks saved{used(blocks), {}};
  saved.bytes = empty({saved.blocks * bytes_per_block()}, DType::kU8);
  std::byte* next = saved.bytes.raw();
  for (const int32_t block : blocks) {
    if (block == kNoBlock) continue;
    check_block(block);
    each_part(layers_, block, [&](Device device, const std::byte* source, size_t size) {
      if (device.is_host()) {
        std::memcpy(next, source, size);
      } else {
        device_memory(device).copy_to_host(device, next, source, size);
      }
      next += size;
    });
  }
  return saved;
}

void KvCache::restore_blocks(const SavedBlocks& saved, std::span<const int32_t> blocks) const {
  const int64_t count = used(blocks);
  if (count != saved.blocks || saved.size() != count * bytes_per_block()) {
    throw Error(ErrorCode::kInternal, cat(saved.blocks, " saved blocks of ", saved.size(), " bytes are to become ",
                                          count, " of ", bytes_per_block(), " bytes each"));
  }
  for (const int32_t block : blocks) {
    if (block != kNoBlock) check_block(block);
  }
  if (count == 0) return;
  const std::byte* next = saved.bytes.raw();
  for (const int32_t block : blocks) {
    if (block == kNoBlock) continue;
    each_part(layers_, block, [&](Device device, std::byte* target, size_t size) {
      if (device.is_host()) {
        std::memcpy(target, next, size);
      } else {
        device_memory(device).copy_from_host(device, target, next, size);
      }
      next += size;
    });
  }
}

GatheredKv gather_kv(const KvBlocks& blocks, const Tensor& block_row, int64_t context) {
  const int64_t count = kv_blocks_for(context);
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
