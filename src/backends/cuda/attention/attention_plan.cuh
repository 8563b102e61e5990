#pragma once

#include "backends/cuda/attention/head_rotation.cuh"
#include "backends/cuda/attention/paged_plan.cuh"

namespace wick::cuda {

// What both kernels of paged attention need.
struct AttentionPlan {
  const float* query;
  int64_t query_row, query_head;
  RowPlan rows;
  PoolPlan pool;
  const float *sinks, *slopes;
  const float* biases;  // [heads, distances]; may be null
  int distances;
  float* out;      // [rows, heads, value_dim]
  float* partial;  // [rows, heads, splits, value_dim + 2]; null: one warp takes all splits of a row
  int row_count, heads, group, splits;
  float scale, soft_cap;
  int64_t window, chunk;
  int* arrived;  // [tiles, kv_heads]: splits whose partial results are there

  // One token a sequence: its key and value [rows, kv_heads, dim] are yet to be rotated and stored; null: they are.
  const float *key, *value;
  bool rotates_queries;  // so are queries; always where keys and values are
  RotationPlan rotation;
};

// The positions that a row sees: first to position.
struct KeyRange {
  int position, first;
};
__device__ __forceinline__ KeyRange key_range_of(const AttentionPlan& plan, int row, int sequence) {
  const int position = plan.rows.positions[sequence] + row - plan.rows.starts[sequence];
  int first = plan.window > 0 ? static_cast<int>(max(int64_t{0}, position - plan.window + 1)) : 0;
  if (plan.chunk > 0) first = max(first, static_cast<int>(position - position % plan.chunk));
  return {position, first};
}

__device__ __forceinline__ float* partial_of(const AttentionPlan& plan, int row, int head, int split) {
  return plan.partial + ((int64_t{row} * plan.heads + head) * plan.splits + split) * (plan.pool.value_dim + 2);
}

// a * b + c * d, rounded the same way in every kernel.
__device__ __forceinline__ float weighted(float a, float b, float c, float d) {
  return __fmaf_rn(a, b, __fmul_rn(c, d));
}

// Pools and heads that visit_heads knows: on the tensor cores.
bool fits_tensor_cores(const AttentionPlan& plan, DType pool);
// Whether that has a block for each split, as plans with a new key and value need, which are not in 8 bits.
bool goes_in_splits(Device device, const AttentionPlan& plan, int64_t table_blocks);
// Whether that rotates queries itself where keys and values are in the pool.
bool rotates_queries(Device device, const AttentionPlan& plan, int64_t table_blocks);
void attend_on_tensor_cores(Device device, AttentionPlan plan, DType pool, int64_t table_blocks);

// Puts keys and values into the pool, and queries into `out`, if it is defined.
void prepare_attention(const AttendInput& input, const HeadRotation& rotation, const PagedRows& rows,
                       const KvBlocks& blocks, const Tensor& out);

}  // namespace wick::cuda
