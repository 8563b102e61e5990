#pragma once

#include "backends/cuda/runtime/capture.h"
#include "backends/cuda/runtime/launch.cuh"
#include "ops/layers/paged_attention.h"

namespace wick::cuda {

// PagedRows for kernels.
struct RowPlan {
  const int32_t *starts, *positions, *table;
  int64_t table_row;  // entries from one sequence's table to the next
  int sequences;
  bool steady;  // they were there before whatever runs now: kernels may read them while earlier ones still run

  // The sequence that a row belongs to.
  __device__ __forceinline__ int sequence_of(int row) const {
    int low = 0, high = sequences;  // starts[low] <= row < starts[high]
    while (high - low > 1) {
      const int middle = (low + high) / 2;
      (starts[middle] <= row ? low : high) = middle;
    }
    return low;
  }
};

inline RowPlan make_row_plan(const PagedRows& rows) {
  return {data_of<const int32_t>(rows.row_starts),  data_of<const int32_t>(rows.positions),
          data_of<const int32_t>(rows.block_table), rows.block_table.strides()[0],
          static_cast<int>(rows.positions.dim(0)),  is_capturing()};  // a graph starts when its inputs are there
}

// KvBlocks for kernels: a head's part of a block lies in one piece.
struct PoolPlan {
  void *key, *value;
  float *key_scale, *value_scale;  // i8 only
  int64_t key_block, key_head, value_block, value_head, key_scale_block, key_scale_head, value_scale_block,
      value_scale_head;
  int kv_heads, dim, value_dim;
  int64_t blocks;

  // A head's keys [dim, tokens] and values [tokens, value_dim] in a block.
  template <typename T>
  __device__ __forceinline__ T* keys_of(int64_t block, int head) const {
    return static_cast<T*>(key) + block * key_block + head * key_head;
  }
  template <typename T>
  __device__ __forceinline__ T* values_of(int64_t block, int head) const {
    return static_cast<T*>(value) + block * value_block + head * value_head;
  }
};

inline PoolPlan make_pool_plan(const KvBlocks& blocks) {
  const auto stride = [](const Tensor& x, size_t d) { return x.defined() ? x.strides()[d] : 0; };
  return {blocks.key.raw(),
          blocks.value.raw(),
          data_or_null<float>(blocks.key_scale),
          data_or_null<float>(blocks.value_scale),
          stride(blocks.key, 0),
          stride(blocks.key, 1),
          stride(blocks.value, 0),
          stride(blocks.value, 1),
          stride(blocks.key_scale, 0),
          stride(blocks.key_scale, 1),
          stride(blocks.value_scale, 0),
          stride(blocks.value_scale, 1),
          static_cast<int>(blocks.key.dim(1)),
          static_cast<int>(blocks.key.dim(2)),
          static_cast<int>(blocks.value.dim(3)),
          blocks.key.dim(0)};
}

// Calls body(T{}) with the pool's element type.
template <typename Body>
void visit_pool(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF32: return body(float{});
    case DType::kF16: return body(__half{});
    case DType::kBF16: return body(__nv_bfloat16{});
    default: return body(int8_t{});
  }
}

}  // namespace wick::cuda
