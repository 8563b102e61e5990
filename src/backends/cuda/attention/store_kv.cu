#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/store_vector.cuh"

namespace wick::cuda {
namespace {

struct VectorSource {  // [tokens, kv_heads, size]
  const float* data;
  int64_t row, head;
};

// A warp per row, head and side (key or value).
template <typename T>
__global__ void __launch_bounds__(kThreads)
    store_kernel(VectorSource key, VectorSource value, RowPlan rows, PoolPlan pool, int64_t work) {
  const int64_t warp = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (warp >= work) return;
  const bool is_key = warp % 2 == 0;
  const int head = static_cast<int>(warp / 2 % pool.kv_heads), token = static_cast<int>(warp / 2 / pool.kv_heads);
  const PoolPlace place = place_of(rows, token);
  if (is_key) {
    store_key<T>(pool, place, head, key.data + token * key.row + head * key.head);
  } else {
    store_value<T>(pool, place, head, value.data + token * value.row + head * value.head);
  }
}

}  // namespace

void store_kv(const Tensor& key, const Tensor& value, const PagedRows& rows, const KvBlocks& blocks) {
  const Runtime& use = runtime(key.device());
  const VectorSource keys{data_of<const float>(key), key.strides()[0], key.strides()[1]};
  const VectorSource values{data_of<const float>(value), value.strides()[0], value.strides()[1]};
  const int64_t work = key.dim(0) * key.dim(1) * 2;
  visit_pool(blocks.key.dtype(), [&](auto zero) {
    store_kernel<decltype(zero)><<<blocks_for(work * 32), kThreads, 0, use.stream>>>(keys, values, make_row_plan(rows),
                                                                                     make_pool_plan(blocks), work);
  });
  check_launch(key.device(), "store_kv");
}

}  // namespace wick::cuda
