#include "backends/cuda/attention/attention_plan.cuh"
#include "backends/cuda/attention/head_rotation.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"
#include "backends/cuda/runtime/store_vector.cuh"

namespace wick::cuda {
namespace {

constexpr int kWarps = 8, kMostDim = 512, kTokens = static_cast<int>(kKvBlockTokens);

struct PreparePlan {
  const float *query, *key, *value;  // [tokens, heads, dim], [tokens, kv_heads, dim], [tokens, kv_heads, value_dim]
  RotationPlan rotation;
  float* out;
  RowPlan rows;
  PoolPlan pool;
  int tokens, heads;  // heads of queries; 0: those are left alone
};

template <typename Put>
__device__ __forceinline__ void rotate(const PreparePlan& plan, const float* from, const float* weight, int token,
                                       const Put& put) {
  if (plan.pool.dim == 128 && HalvesRotation<128>::fits(plan.rotation)) {
    return rotate_halves<128>(plan.rotation, from, weight, token, put);
  }
  rotate_head(plan.rotation, from, plan.pool.dim, weight, token, put);
}

// A block has a head of queries, keys or values of 16 tokens, a warp a vector at a time.
template <typename T>
__global__ void __launch_bounds__(kWarps * 32) prepare_kernel(const __grid_constant__ PreparePlan plan) {
  extern __shared__ float vectors[];  // [kTokens, dim + 1]: keys
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, first = static_cast<int>(blockIdx.x) * kTokens;
  const PoolPlan& pool = plan.pool;
  const int count = min(kTokens, plan.tokens - first);
  launch_dependents();
  if (!plan.rows.steady) wait_for_prerequisites();
  int which = static_cast<int>(blockIdx.y);
  const bool queries = which < plan.heads;
  const PoolPlace place = queries || lane >= count ? PoolPlace{} : place_of(plan.rows, first + lane);  // by lane
  const auto place_at = [&](int i) {
    return PoolPlace{__shfl_sync(0xffffffffu, place.block, i), __shfl_sync(0xffffffffu, place.slot, i)};
  };
  if (plan.rows.steady) wait_for_prerequisites();
  if (queries) {
    for (int i = warp; i < count; i += kWarps) {
      const int64_t at = (int64_t{first + i} * plan.heads + which) * pool.dim;
      rotate(plan, plan.query + at, plan.rotation.query_weight, first + i,
             [&](int d, float value) { plan.out[at + d] = value; });
    }
    return;
  }
  which -= plan.heads;
  if (which >= pool.kv_heads) {
    which -= pool.kv_heads;
    for (int i = warp; i < count; i += kWarps) {
      store_value<T>(pool, place_at(i), which,
                     plan.value + (int64_t{first + i} * pool.kv_heads + which) * pool.value_dim);
    }
    return;
  }
  for (int i = warp; i < count; i += kWarps) {
    const float* key = plan.key + (int64_t{first + i} * pool.kv_heads + which) * pool.dim;
    float* vector = vectors + i * (pool.dim + 1);
    rotate(plan, key, plan.rotation.key_weight, first + i, [&](int d, float value) { vector[d] = value; });
    if constexpr (std::is_same_v<T, int8_t>) {
      __syncwarp();
      store_key<T>(pool, place_at(i), which, vector);
    }
  }
  if constexpr (!std::is_same_v<T, int8_t>) {
    // A component of 16 tokens lies together.
    __syncthreads();
    const PoolPlace mine = place_at(lane % kTokens);
    if (lane % kTokens >= count) return;
    T* target = static_cast<T*>(pool.key) + mine.block * pool.key_block + which * pool.key_head + mine.slot;
    for (int d = warp * 2 + lane / kTokens; d < pool.dim; d += kWarps * 2) {
      target[d * kTokens] = to<T>(vectors[lane % kTokens * (pool.dim + 1) + d]);
    }
  }
}

}  // namespace

void prepare_attention(const AttendInput& input, const HeadRotation& rotation, const PagedRows& rows,
                       const KvBlocks& blocks, const Tensor& out) {
  const auto& [query, key, value] = input;
  if (query.numel() == 0) return;
  const Device device = query.device();
  if (query.dim(2) > kMostDim) {
    throw Error(ErrorCode::kUnsupported, cat("attend: heads of ", query.dim(2),
                                             " components are too large to be normed or rotated on ", device));
  }
  const PreparePlan plan{
      data_of<const float>(query),  data_of<const float>(key),      data_of<const float>(value),
      make_rotation_plan(rotation), data_or_null<float>(out),       make_row_plan(rows),
      make_pool_plan(blocks),       static_cast<int>(query.dim(0)), out.defined() ? static_cast<int>(query.dim(1)) : 0};
  const dim3 grid(blocks_for(query.dim(0), kTokens), static_cast<unsigned>(plan.heads + 2 * key.dim(1)));
  const size_t shared = static_cast<size_t>(kTokens) * static_cast<size_t>(query.dim(2) + 1) * sizeof(float);
  visit_pool(blocks.key.dtype(), [&](auto zero) {
    launch_dependent(device, "prepare_attention", prepare_kernel<decltype(zero)>, grid, kWarps * 32, shared, plan);
  });
}

}  // namespace wick::cuda
