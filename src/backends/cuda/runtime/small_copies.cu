#include "backends/cuda/runtime/small_copies.h"

#include "backends/cuda/runtime/dependent_launch.cuh"

namespace wick::cuda {
namespace {

constexpr int kEach = 4;  // chunks of a thread

template <bool kFromHost, typename Chunk>
__global__ void __launch_bounds__(kThreads) copy_kernel(Chunk* to, const Chunk* from, int chunks) {
  Chunk held[kEach];
  const auto each = [&](const auto& body) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int at = static_cast<int>(threadIdx.x) + i * kThreads;
      if (at < chunks) body(at, held[i]);
    }
  };
  const auto load = [&] { each([&](int at, Chunk& chunk) { chunk = __ldcv(from + at); }); };
  launch_dependents();
  if (kFromHost) load();  // it was there before this kernel
  wait_for_prerequisites();
  if (!kFromHost) load();
  each([&](int at, const Chunk& chunk) { to[at] = chunk; });
}

template <typename Chunk>
bool fits(const void* to, const void* from, size_t bytes) {
  return bytes <= sizeof(Chunk) * kEach * kThreads && bytes % sizeof(Chunk) == 0 && aligned(to, sizeof(Chunk)) &&
         aligned(from, sizeof(Chunk));
}

template <bool kFromHost, typename Chunk>
void copy_chunks(Device device, void* to, const void* from, size_t bytes) {
  launch_dependent(device, "copy", copy_kernel<kFromHost, Chunk>, 1, kThreads, 0, static_cast<Chunk*>(to),
                   static_cast<const Chunk*>(from), static_cast<int>(bytes / sizeof(Chunk)));
}
template <bool kFromHost>
void copy(Device device, void* to, const void* from, size_t bytes) {
  fits<uint4>(to, from, bytes) ? copy_chunks<kFromHost, uint4>(device, to, from, bytes)
                               : copy_chunks<kFromHost, uint32_t>(device, to, from, bytes);
}

}  // namespace

bool is_small(const void* to, const void* from, size_t bytes) {
  return fits<uint4>(to, from, bytes) || fits<uint32_t>(to, from, bytes);
}
void copy_small_from_host(Device device, void* to, const void* pinned, size_t bytes) {
  copy<true>(device, to, pinned, bytes);
}
void copy_small_to_host(Device device, void* pinned, const void* from, size_t bytes) {
  copy<false>(device, pinned, from, bytes);
}

}  // namespace wick::cuda
