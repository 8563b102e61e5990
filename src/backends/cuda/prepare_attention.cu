#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/kernels.h"
#include "backends/cuda/paged_plan.cuh"
#include "backends/cuda/store_vector.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = 4, kMostDim = 512;

struct PreparePlan {
  const float *query, *key, *value;  // [tokens, heads, dim], [tokens, kv_heads, dim], [tokens, kv_heads, value_dim]
  const float *query_weight, *key_weight, *cos, *sin;
  float* out;
  RowPlan rows;
  PoolPlan pool;
  int tokens, heads, pairs;
  float eps;
  bool interleaved;
};

// The vector normed and turned, into shared memory. Rounds as rms_norm and rope do.
__device__ void turn_head(const PreparePlan& plan, const float* from, const float* weight, int token, float* vector) {
  const int lane = threadIdx.x % 32, dim = plan.pool.dim;
  float inverse = 1;
  if (weight) {
    float square = 0;
    for (int d = lane; d < dim; d += 32) square += from[d] * from[d];
    square = warp_sum(square);
    inverse = 1.0f / sqrtf(square / static_cast<float>(dim) + plan.eps);
  }
  const auto normed = [&](int d) { return weight ? from[d] * inverse * weight[d] : from[d]; };
  for (int i = lane; i < plan.pairs; i += 32) {
    const int first = plan.interleaved ? 2 * i : i, second = plan.interleaved ? 2 * i + 1 : i + plan.pairs;
    const float a = normed(first), b = normed(second);
    const float c = plan.cos[token * plan.pairs + i], s = plan.sin[token * plan.pairs + i];
    vector[first] = a * c - b * s;
    vector[second] = a * s + b * c;
  }
  for (int d = 2 * plan.pairs + lane; d < dim; d += 32) vector[d] = normed(d);
  __syncwarp();
}

// A warp per vector of a token: its queries, its keys, its values.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32) prepare_kernel(const __grid_constant__ PreparePlan plan) {
  __shared__ float vectors[kWarps][kMostDim];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const PoolPlan& pool = plan.pool;
  const int per_token = plan.heads + 2 * pool.kv_heads;
  const int64_t task = int64_t{blockIdx.x} * kWarps + warp;
  const int token = static_cast<int>(task / per_token);
  int which = static_cast<int>(task % per_token);
  let_next_start();
  if (token >= plan.tokens) return;
  if (!plan.rows.steady) wait_for_previous();
  const PoolPlace place = which < plan.heads ? PoolPlace{} : place_of(plan.rows, token);
  if (plan.rows.steady) wait_for_previous();
  float* vector = vectors[warp];
  if (which < plan.heads) {
    const int64_t at = (int64_t{token} * plan.heads + which) * pool.dim;
    turn_head(plan, plan.query + at, plan.query_weight, token, vector);
    for (int d = lane; d < pool.dim; d += 32) plan.out[at + d] = vector[d];
    return;
  }
  which -= plan.heads;
  if (which < pool.kv_heads) {
    turn_head(plan, plan.key + (int64_t{token} * pool.kv_heads + which) * pool.dim, plan.key_weight, token, vector);
    store_key<T>(pool, place, which, vector);
  } else {
    which -= pool.kv_heads;
    store_value<T>(pool, place, which, plan.value + (int64_t{token} * pool.kv_heads + which) * pool.value_dim);
  }
}

}  // namespace

void prepare_attention(const Tensor& query, const Tensor& key, const Tensor& value, const HeadTurns& turns,
                       const PagedRows& rows, const KvBlocks& blocks, const Tensor& out) {
  if (query.numel() == 0) return;
  const Device device = query.device();
  if (query.dim(2) > kMostDim) {
    throw Error(ErrorCode::kUnsupported, cat("prepare_attention: heads of ", query.dim(2), " components"));
  }
  const PreparePlan plan{data_of<const float>(query),
                         data_of<const float>(key),
                         data_of<const float>(value),
                         data_or_null<const float>(turns.query_weight),
                         data_or_null<const float>(turns.key_weight),
                         data_or_null<const float>(turns.cos),
                         data_or_null<const float>(turns.sin),
                         data_of<float>(out),
                         make_row_plan(rows),
                         make_pool_plan(blocks),
                         static_cast<int>(query.dim(0)),
                         static_cast<int>(query.dim(1)),
                         turns.cos.defined() ? static_cast<int>(turns.cos.dim(1)) : 0,
                         turns.eps,
                         turns.interleaved};
  const int64_t tasks = query.dim(0) * (query.dim(1) + 2 * key.dim(1));
  visit_pool(blocks.key.dtype(), [&](auto zero) {
    launch_dependent(device, "prepare_attention", prepare_kernel<decltype(zero)>, blocks_for(tasks, kWarps),
                     kWarps * 32, 0, plan);
  });
}

}  // namespace wick::cuda
