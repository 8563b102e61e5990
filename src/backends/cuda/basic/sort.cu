#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_segmented_radix_sort.cuh>

#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

// A number whose order as an unsigned integer is the order of the values, NaN above all.
template <typename T>
__device__ uint64_t sort_key(T value) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(static_cast<int64_t>(value)) ^ (uint64_t{1} << 63);
  } else {
    const auto wide = to<double>(value);
    if (wide != wide) return ~uint64_t{0};
    const double folded = wide == 0 ? 0.0 : wide;  // -0 equals 0
    const auto bits = static_cast<uint64_t>(__double_as_longlong(folded));
    return bits >> 63 ? ~bits : bits | (uint64_t{1} << 63);
  }
}

struct SegmentStart {
  int64_t size;
  __host__ __device__ int64_t operator()(int64_t i) const { return i * size; }
};

// Radix sort is stable; the keys of a descending sort are turned around, which keeps it so.
template <typename T>
void run(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  const Device device = x.device();
  const Runtime& use = runtime(device);
  const auto in = make_lines<1>(x.shape(), {x.strides()}, dim);
  const auto out = make_lines<1>(values.shape(), {values.strides()}, dim);
  const int64_t size = in.size, lines = in.walk.total, count = size * lines, kept = values.dim(dim);
  if (count == 0 || kept == 0) return;
  const Scratch memory(device, static_cast<size_t>(count) * 32);
  auto* keys = memory.as<uint64_t>();
  auto* sorted_keys = keys + count;
  auto* places = reinterpret_cast<int64_t*>(sorted_keys + count);
  auto* sorted_places = places + count;
  const auto* from = data_of<const T>(x);
  for_each_index(device, "sort", count, [=] __device__(int64_t i) {
    int64_t at[1];
    in.walk.offsets(i / size, at);
    const uint64_t key = sort_key(from[at[0] + i % size * in.steps[0]]);
    keys[i] = descending ? ~key : key;
    places[i] = i % size;
  });
  const auto starts = thrust::make_transform_iterator(thrust::make_counting_iterator<int64_t>(0), SegmentStart{size});
  size_t bytes = 0;
  const auto sort_lines = [&](void* temporary) {
    check(cub::DeviceSegmentedRadixSort::SortPairs(temporary, bytes, keys, sorted_keys, places, sorted_places, count,
                                                   lines, starts, starts + 1, 0, 64, use.stream),
          device, "sort");
  };
  sort_lines(nullptr);
  const Scratch temporary(device, std::max<size_t>(bytes, 1));
  sort_lines(temporary.as<void>());
  auto* target = data_of<T>(values);
  auto* target_places = data_of<int64_t>(indices);
  for_each_index(device, "sort", kept * lines, [=] __device__(int64_t i) {
    int64_t at[1], to_at[1];
    in.walk.offsets(i / kept, at);
    out.walk.offsets(i / kept, to_at);
    const int64_t place = sorted_places[i / kept * size + i % kept], spot = to_at[0] + i % kept * out.steps[0];
    target[spot] = from[at[0] + place * in.steps[0]];
    target_places[spot] = place;
  });
}

}  // namespace

void sort(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  visit_device_dtype(x.dtype(), [&](auto zero) { run<decltype(zero)>(x, dim, descending, values, indices); });
}

void topk(const Tensor& x, int dim, bool largest, const Tensor& values, const Tensor& indices) {
  sort(x, dim, largest, values, indices);
}

}  // namespace wick::cuda
