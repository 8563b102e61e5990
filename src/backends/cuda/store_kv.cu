#include "backends/cuda/kernels.h"
#include "backends/cuda/paged_plan.cuh"

namespace wick::cuda {
namespace {

struct VectorSource {  // [tokens, kv_heads, size]
  const float* data;
  int64_t row, head;
};

// One vector by a warp into elements `step` apart; i8 sets its scale.
template <typename T>
__device__ void store_vector(const float* from, int size, T* target, int step, float* scale) {
  const int lane = threadIdx.x % 32;
  if constexpr (std::is_same_v<T, int8_t>) {
    float most = 0;
    bool nan = false;
    for (int d = lane; d < size; d += 32) {
      nan |= from[d] != from[d];
      most = fmaxf(most, fabsf(from[d]));
    }
    most = warp_max(most);
    if (__any_sync(0xffffffffu, nan)) most = __int_as_float(0x7fc00000);
    // Numbers too small for the scale's inverse become 0; infinity and NaN live on in the scale.
    const bool rounds = most > 1e-30f && isfinite(most);
    const float inverse = rounds ? 127.0f / most : 0.0f;
    if (lane == 0) *scale = most / 127.0f;
    for (int d = lane; d < size; d += 32) {
      target[int64_t{d} * step] = rounds ? static_cast<int8_t>(rintf(from[d] * inverse)) : int8_t{0};
    }
  } else {
    for (int d = lane; d < size; d += 32) target[int64_t{d} * step] = to<T>(from[d]);
  }
}

// A warp per row, head and side (key or value).
template <typename T>
__global__ void __launch_bounds__(kThreads)
    store_kernel(VectorSource key, VectorSource value, RowPlan rows, PoolPlan pool, int64_t work) {
  const int64_t warp = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (warp >= work) return;
  const bool is_key = warp % 2 == 0;
  const int head = static_cast<int>(warp / 2 % pool.kv_heads), token = static_cast<int>(warp / 2 / pool.kv_heads);
  const int sequence = rows.sequence_of(token), position = rows.positions[sequence] + token - rows.starts[sequence];
  constexpr int kTokens = static_cast<int>(kKvBlockTokens);
  const int64_t block = rows.table[sequence * rows.table_row + position / kTokens];
  const int slot = position % kTokens;
  if (is_key) {
    T* target = static_cast<T*>(pool.key) + block * pool.key_block + head * pool.key_head + slot;
    store_vector<T>(key.data + token * key.row + head * key.head, pool.dim, target, kTokens,
                    pool.key_scale + block * pool.key_scale_block + head * pool.key_scale_head + slot);
  } else {
    T* target = static_cast<T*>(pool.value) + block * pool.value_block + head * pool.value_head +
                int64_t{slot} * pool.value_dim;
    store_vector<T>(value.data + token * value.row + head * value.head, pool.value_dim, target, 1,
                    pool.value_scale + block * pool.value_scale_block + head * pool.value_scale_head + slot);
  }
}

}  // namespace

void store_kv(const Tensor& key, const Tensor& value, const PagedRows& rows, const KvBlocks& blocks) {
  const Runtime& use = runtime(key.device());
  const VectorSource keys{data_of<const float>(key), key.strides()[0], key.strides()[1]};
  const VectorSource values{data_of<const float>(value), value.strides()[0], value.strides()[1]};
  const int64_t work = key.dim(0) * key.dim(1) * 2;
  visit_pool(blocks.key.dtype(), [&](auto zero) {
    store_kernel<decltype(zero)><<<blocks_for(work * 32), kThreads, 0, use.stream>>>(
        keys, values, make_row_plan(rows), make_pool_plan(blocks), work);
  });
  check_launch(key.device(), "store_kv");
}

}  // namespace wick::cuda
