#include "ops/layers/paged_attention.h"

#include "backends/cuda/attention/attention_plan.cuh"
#include "backends/cuda/runtime/kernels.h"
#include "tensor/create.h"

// Keys are taken in splits of fixed positions; a row's result merges its splits in order, whether one warp goes through
// all of them (many rows) or each has a warp of its own (few rows). So its bits do not depend on the other rows.
namespace wick::cuda {
namespace {

constexpr int kSplit = 512, kWarps = 4, kTokens = static_cast<int>(kKvBlockTokens);
constexpr int64_t kMostSplitWarps = 8192;  // beyond that many, rows are enough to fill the device

// The weighted values of some keys: sums are relative to e^most.
template <int kLanes>  // value components of a lane
struct Mixed {
  float most = -INFINITY, total = 0;
  float sums[kLanes] = {};

  __device__ void merge(const Mixed& other) {
    const float top = fmaxf(most, other.most);
    const float keep = top == most ? 1.0f : expf(most - top), take = top == other.most ? 1.0f : expf(other.most - top);
    total = weighted(total, keep, other.total, take);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) sums[i] = weighted(sums[i], keep, other.sums[i], take);
    most = top;
  }
};

// The keys of one split that a query at `position` sees, 16 at a time: lanes l and l + 16 share key l of the block.
template <typename T, int kLanes>
__device__ Mixed<kLanes> mix_split(const AttentionPlan& plan, const float* query, int sequence, int head, int position,
                                   int first, int last) {
  const int lane = threadIdx.x % 32, slot = lane % kTokens, odd = lane / kTokens, kv_head = head / plan.group;
  const PoolPlan& pool = plan.pool;
  const int32_t* table = plan.rows.table + sequence * plan.rows.table_row;
  const float slope = plan.slopes ? plan.slopes[head] : 0;
  const float* biases = plan.biases ? plan.biases + int64_t{head} * plan.distances : nullptr;
  Mixed<kLanes> mixed;
  for (int block = first / kTokens; block <= last / kTokens; ++block) {
    const int64_t id = table[block];
    const T* key = pool.keys_of<const T>(id, kv_head) + slot;
    float dot = 0;
#pragma unroll 8
    for (int d = odd; d < pool.dim; d += 2) dot += query[d] * to<float>(key[d * kTokens]);
    dot += __shfl_xor_sync(0xffffffffu, dot, 16);
    if constexpr (std::is_same_v<T, int8_t>) {
      dot *= pool.key_scale[id * pool.key_scale_block + kv_head * pool.key_scale_head + slot];
    }
    const int at = block * kTokens + slot;
    const bool seen = at >= first && at <= last;
    float score = dot * plan.scale;
    if (plan.soft_cap > 0) score = plan.soft_cap * tanhf(score / plan.soft_cap);
    score += slope * static_cast<float>(at - position);
    if (biases && seen) score += biases[min(position - at, plan.distances - 1)];
    if (!seen) score = -INFINITY;
    const float top = fmaxf(mixed.most, warp_max(score));
    const float shrink = top == mixed.most ? 1.0f : expf(mixed.most - top);
    float weight = seen ? expf(score - top) : 0.0f;
    // Each key is with two lanes; halves add up to the whole.
    mixed.total = mixed.total * shrink + warp_sum(weight) * 0.5f;
    mixed.most = top;
    if constexpr (std::is_same_v<T, int8_t>) {
      if (seen) weight *= pool.value_scale[id * pool.value_scale_block + kv_head * pool.value_scale_head + slot];
    }
#pragma unroll
    for (int i = 0; i < kLanes; ++i) mixed.sums[i] *= shrink;
    const T* value = pool.values_of<const T>(id, kv_head);
    const int begin = max(0, first - block * kTokens), end = min(kTokens - 1, last - block * kTokens);
    for (int j = begin; j <= end; ++j) {
      const float share = __shfl_sync(0xffffffffu, weight, j);
#pragma unroll
      for (int i = 0; i < kLanes; ++i) {
        const int d = lane + 32 * i;
        if (d < pool.value_dim) mixed.sums[i] += share * to<float>(value[j * pool.value_dim + d]);
      }
    }
  }
  return mixed;
}

template <int kLanes>
__device__ void write_row(const AttentionPlan& plan, int row, int head, Mixed<kLanes> mixed) {
  if (plan.sinks) {
    Mixed<kLanes> sink;
    sink.most = plan.sinks[head];
    sink.total = 1;
    mixed.merge(sink);
  }
  float* out = plan.out + (int64_t{row} * plan.heads + head) * plan.pool.value_dim;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    const int d = static_cast<int>(threadIdx.x % 32) + 32 * i;
    if (d < plan.pool.value_dim) out[d] = mixed.sums[i] / mixed.total;
  }
}

// A warp per row and head, and per split where they are split.
template <typename T, int kLanes>
__global__ void __launch_bounds__(kWarps * 32) attention_kernel(const __grid_constant__ AttentionPlan plan) {
  extern __shared__ float memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, dim = plan.pool.dim;
  const int64_t task = int64_t{blockIdx.x} * kWarps + warp;
  if (task >= int64_t{plan.row_count} * plan.heads) return;
  const int row = static_cast<int>(task / plan.heads), head = static_cast<int>(task % plan.heads);
  const int sequence = plan.rows.sequence_of(row);
  const KeyRange keys_seen = key_range_of(plan, row, sequence);
  const int from = plan.partial ? static_cast<int>(blockIdx.y) : keys_seen.first / kSplit;
  const int until = plan.partial ? from : keys_seen.position / kSplit;
  if (from * kSplit > keys_seen.position || (from + 1) * kSplit <= keys_seen.first) return;
  float* query = memory + warp * dim;
  for (int d = lane; d < dim; d += 32) query[d] = plan.query[row * plan.query_row + head * plan.query_head + d];
  __syncwarp();
  Mixed<kLanes> mixed;
  for (int split = from; split <= until; ++split) {
    const auto part =
        mix_split<T, kLanes>(plan, query, sequence, head, keys_seen.position, max(keys_seen.first, split * kSplit),
                             min(keys_seen.position, (split + 1) * kSplit - 1));
    if (split == from) {
      mixed = part;
    } else {
      mixed.merge(part);
    }
  }
  if (!plan.partial) return write_row(plan, row, head, mixed);
  float* to_partial = partial_of(plan, row, head, from);
  if (lane == 0) {
    to_partial[0] = mixed.most;
    to_partial[1] = mixed.total;
  }
#pragma unroll
  for (int i = 0; i < kLanes; ++i) {
    if (lane + 32 * i < plan.pool.value_dim) to_partial[2 + lane + 32 * i] = mixed.sums[i];
  }
}

template <int kLanes>
__global__ void __launch_bounds__(kWarps * 32) merge_kernel(const __grid_constant__ AttentionPlan plan) {
  const int lane = threadIdx.x % 32;
  const int64_t task = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  if (task >= int64_t{plan.row_count} * plan.heads) return;
  const int row = static_cast<int>(task / plan.heads), head = static_cast<int>(task % plan.heads);
  const KeyRange keys_seen = key_range_of(plan, row, plan.rows.sequence_of(row));
  const int from = keys_seen.first / kSplit;
  Mixed<kLanes> mixed;
  for (int split = from; split <= keys_seen.position / kSplit; ++split) {
    const float* partial = partial_of(plan, row, head, split);
    Mixed<kLanes> part;
    part.most = partial[0];
    part.total = partial[1];
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      part.sums[i] = lane + 32 * i < plan.pool.value_dim ? partial[2 + lane + 32 * i] : 0.0f;
    }
    if (split == from) {
      mixed = part;
    } else {
      mixed.merge(part);
    }
  }
  write_row(plan, row, head, mixed);
}

template <typename T, int kLanes>
void launch(Device device, AttentionPlan plan) {
  const Runtime& use = runtime(device);
  const int64_t tasks = int64_t{plan.row_count} * plan.heads;
  const bool split = plan.splits > 1 && tasks * plan.splits <= kMostSplitWarps;
  const Scratch partial(device, split ? static_cast<size_t>(tasks * plan.splits * (plan.pool.value_dim + 2)) * 4 : 0);
  plan.partial = split ? partial.as<float>() : nullptr;
  const dim3 grid(blocks_for(tasks, kWarps), split ? static_cast<unsigned>(plan.splits) : 1);
  const size_t shared = static_cast<size_t>(kWarps * plan.pool.dim) * sizeof(float);
  attention_kernel<T, kLanes><<<grid, kWarps * 32, shared, use.stream>>>(plan);
  check_launch(device, "paged_attention");
  if (!split) return;
  merge_kernel<kLanes><<<blocks_for(tasks, kWarps), kWarps * 32, 0, use.stream>>>(plan);
  check_launch(device, "paged_attention");
}

AttentionPlan plan_of(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows,
                      const PagedAttentionOptions& options, const Tensor& out) {
  AttentionPlan plan{};
  plan.query = data_of<const float>(query);
  plan.query_row = query.strides()[0];
  plan.query_head = query.strides()[1];
  plan.rows = make_row_plan(rows);
  plan.pool = make_pool_plan(blocks);
  plan.sinks = data_or_null<const float>(options.sinks);
  plan.slopes = data_or_null<const float>(options.alibi_slopes);
  plan.biases = data_or_null<const float>(options.distance_bias);
  if (plan.biases) plan.distances = static_cast<int>(options.distance_bias.dim(1));
  plan.out = data_of<float>(out);
  plan.row_count = static_cast<int>(query.dim(0));
  plan.heads = static_cast<int>(query.dim(1));
  plan.group = plan.heads / plan.pool.kv_heads;
  plan.scale = options.scale;
  plan.soft_cap = options.soft_cap;
  plan.window = options.window;
  plan.chunk = options.chunk;
  return plan;
}

bool on_tensor_cores(const AttentionPlan& plan, DType pool) {
  return fits_tensor_cores(plan, pool) && plan.query_row % 2 == 0 && plan.query_head % 2 == 0 && aligned(plan.query, 8);
}

}  // namespace

void paged_attention(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows,
                     const PagedAttentionOptions& options, const Tensor& out) {
  AttentionPlan plan = plan_of(query, blocks, rows, options, out);
  const Device device = query.device();
  if (on_tensor_cores(plan, blocks.key.dtype())) {
    return attend_on_tensor_cores(device, plan, blocks.key.dtype(), rows.block_table.dim(1));
  }
  if (plan.pool.dim > 1024 || plan.pool.value_dim > 512) {
    throw Error(ErrorCode::kUnsupported, cat("paged_attention: heads of ", plan.pool.dim, " and ", plan.pool.value_dim,
                                             " components are too large for ", device));
  }
  plan.splits = static_cast<int>((rows.block_table.dim(1) * kKvBlockTokens + kSplit - 1) / kSplit);
  visit_pool(blocks.key.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if (plan.pool.value_dim <= 64) return launch<T, 2>(device, plan);
    if (plan.pool.value_dim <= 128) return launch<T, 4>(device, plan);
    plan.pool.value_dim <= 256 ? launch<T, 8>(device, plan) : launch<T, 16>(device, plan);
  });
}

namespace {

constexpr int64_t kMostRotated = 512;  // components of heads that prepare_attention takes

// Whether kernels of attention itself rotate queries, and perhaps keys, too.
bool attend_while_rotating(const AttendInput& input, const HeadRotation& rotation, const KvBlocks& blocks,
                           const PagedRows& rows, const PagedAttentionOptions& options, const Tensor& out) {
  const Tensor& query = input.query;
  const Device device = query.device();
  AttentionPlan plan = plan_of(query, blocks, rows, options, out);
  const DType pool = blocks.key.dtype();
  const int64_t table_blocks = rows.block_table.dim(1);
  if (pool != DType::kI8 && on_tensor_cores(plan, pool)) {
    plan.rotation = make_rotation_plan(rotation);
    plan.rotates_queries = true;
    if (rows.positions.dim(0) == query.dim(0) && goes_in_splits(device, plan, table_blocks)) {
      plan.key = data_of<const float>(input.key);
      plan.value = data_of<const float>(input.value);
      attend_on_tensor_cores(device, plan, pool, table_blocks);
      return true;
    }
    if (rotates_queries(device, plan, table_blocks)) {
      prepare_attention(input, rotation, rows, blocks, Tensor());
      attend_on_tensor_cores(device, plan, pool, table_blocks);
      return true;
    }
  }
  return false;
}

}  // namespace

void attend(const AttendInput& input, const HeadRotation& rotation, const KvBlocks& blocks, const PagedRows& rows,
            const PagedAttentionOptions& options, const Tensor& queries, const Tensor& out) {
  const Tensor& query = input.query;
  const bool rotates_any = rotation.query_weight.defined() || rotation.cos.defined();
  if (query.dim(2) > kMostRotated && !rotates_any) {
    if (queries.defined()) copy(query, queries);
    cuda::store_kv(input.key, input.value, rows, blocks);
    return paged_attention(query, blocks, rows, options, out);
  }
  if (attend_while_rotating(input, rotation, blocks, rows, options, out)) {
    if (queries.defined()) prepare_attention(input, rotation, rows, blocks, queries);  // stores the same bits again
    return;
  }
  const Tensor rotated = queries.defined() ? queries : empty(query.shape(), DType::kF32, query.device());
  prepare_attention(input, rotation, rows, blocks, rotated);
  paged_attention(rotated, blocks, rows, options, out);
}

}  // namespace wick::cuda
