#include "backends/cuda/attention_plan.cuh"
#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/head_turns.cuh"
#include "backends/cuda/store_vector.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = 4, kMostDim = 512;

struct PreparePlan {
  const float *query, *key, *value;  // [tokens, heads, dim], [tokens, kv_heads, dim], [tokens, kv_heads, value_dim]
  TurnPlan turns;
  float* out;
  RowPlan rows;
  PoolPlan pool;
  int tokens, heads;
};

template <typename Put>
__device__ __forceinline__ void turn(const PreparePlan& plan, const float* from, const float* weight, int token,
                                     const Put& put) {
  if (plan.pool.dim == 128) return turn_head<128>(plan.turns, from, weight, token, put);
  turn_head(plan.turns, from, plan.pool.dim, weight, token, put);
}

// A warp per vector of a token: its queries, its keys, its values.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32) prepare_kernel(const __grid_constant__ PreparePlan plan) {
  __shared__ float vectors[kWarps][kMostDim];
  const int warp = threadIdx.x / 32;
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
    return turn(plan, plan.query + at, plan.turns.query_weight, token,
                [&](int d, float value) { plan.out[at + d] = value; });
  }
  which -= plan.heads;
  if (which < pool.kv_heads) {
    const float* key = plan.key + (int64_t{token} * pool.kv_heads + which) * pool.dim;
    turn(plan, key, plan.turns.key_weight, token, [&](int d, float value) { vector[d] = value; });
    __syncwarp();
    store_key<T>(pool, place, which, vector);
  } else {
    which -= pool.kv_heads;
    store_value<T>(pool, place, which, plan.value + (int64_t{token} * pool.kv_heads + which) * pool.value_dim);
  }
}

}  // namespace

void prepare_attention(const AttentionInput& input, const HeadTurns& turns, const PagedRows& rows,
                       const KvBlocks& blocks, const Tensor& out) {
  const auto& [query, key, value] = input;
  if (query.numel() == 0) return;
  const Device device = query.device();
  if (query.dim(2) > kMostDim) {
    throw Error(ErrorCode::kUnsupported, cat("prepare_attention: heads of ", query.dim(2), " components"));
  }
  const PreparePlan plan{data_of<const float>(query),   data_of<const float>(key),
                         data_of<const float>(value),   make_turn_plan(turns),
                         data_of<float>(out),           make_row_plan(rows),
                         make_pool_plan(blocks),        static_cast<int>(query.dim(0)),
                         static_cast<int>(query.dim(1))};
  const int64_t tasks = query.dim(0) * (query.dim(1) + 2 * key.dim(1));
  visit_pool(blocks.key.dtype(), [&](auto zero) {
    launch_dependent(device, "prepare_attention", prepare_kernel<decltype(zero)>, blocks_for(tasks, kWarps),
                     kWarps * 32, 0, plan);
  });
}

}  // namespace wick::cuda
