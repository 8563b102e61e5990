#pragma once

#include <cuda.h>

#include "backends/cuda/mma.cuh"

// Instructions of compute capability 9.0a: copies by the copy engine, barriers that count their bytes, clusters of
// blocks that see each other's shared memory, and products of four warps that read it.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define WICK_HOPPER 1
#endif

namespace wick::cuda {

inline constexpr int kSwizzleBytes = 1024;  // after which the swizzle repeats: 8 rows of 128 bytes

#if WICK_HOPPER && defined(__CUDACC__)

// A barrier of 8 bytes in shared memory is named by its address. It changes phase when `count` arrivals and all bytes
// that were expected are there.
__device__ __forceinline__ void init_barrier(uint32_t barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
// Makes new barriers known to the copy engine and the cluster.
__device__ __forceinline__ void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ __forceinline__ void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
__device__ __forceinline__ void arrive_and_expect(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
__device__ __forceinline__ bool has_passed(uint32_t barrier, uint32_t parity) {
  uint32_t passed = 0;
  asm volatile(
      "{ .reg .pred passed; mbarrier.try_wait.parity.shared::cta.b64 passed, [%1], %2; selp.u32 %0, 1, 0, passed; }"
      : "=r"(passed)
      : "r"(barrier), "r"(parity)
      : "memory");
  return passed;
}
__device__ __forceinline__ void wait_barrier(uint32_t barrier, uint32_t parity) {
#if WICK_TRAP_AFTER
  for (const long long start = clock64(); !has_passed(barrier, parity);) {
    if (clock64() - start > WICK_TRAP_AFTER) __trap();
  }
#else
  while (!has_passed(barrier, parity)) {
  }
#endif
}

// The same place in the shared memory of another block of the cluster.
__device__ __forceinline__ uint32_t in_block(uint32_t address, uint32_t rank) {
  uint32_t there = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
__device__ __forceinline__ void arrive_at(uint32_t cluster_barrier) {
  asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier) : "memory");
}
__device__ __forceinline__ float4 load_cluster(uint32_t address) {
  float4 four;
  asm volatile("ld.shared::cluster.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(four.x), "=f"(four.y), "=f"(four.z), "=f"(four.w)
               : "r"(address));
  return four;
}
__device__ __forceinline__ uint32_t cluster_rank() {
  uint32_t rank = 0;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
// All threads of all blocks of the cluster.
__device__ __forceinline__ void sync_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ __forceinline__ void fetch_map(const CUtensorMap& map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}
// A box of the map's matrix, from this row and column on, to shared memory.
__device__ __forceinline__ void fetch_box(uint32_t place, const CUtensorMap& map, int row, int column,
                                          uint32_t barrier) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               ::"r"(place), "l"(&map), "r"(column), "r"(row), "r"(barrier)
               : "memory");
}
// To the same place in all blocks of the cluster whose bit is set, each of which counts the bytes.
__device__ __forceinline__ void fetch_box_for(uint16_t blocks, uint32_t place, const CUtensorMap& map, int row,
                                              int column, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(place),
      "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"(blocks)
      : "memory");
}

// Rows of 128 bytes, their 16-byte chunks turned by the row (the 128-byte swizzle), 8 rows after 1024 bytes. Columns
// of 16 elements are 32 bytes or 2 units of the result apart.
__device__ __forceinline__ uint64_t describe(uint32_t address) {
  return (uint64_t{address} & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most kPending groups of products are under way.
template <int kPending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// clang-format off
#define WICK_SUMS8(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), \
                      "+f"(sum[i + 4]), "+f"(sum[i + 5]), "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define WICK_SUMS32(i) WICK_SUMS8(i), WICK_SUMS8(i + 8), WICK_SUMS8(i + 16), WICK_SUMS8(i + 24)
#define WICK_NAMES4 "%0, %1, %2, %3"
#define WICK_NAMES8 WICK_NAMES4 ", %4, %5, %6, %7"
#define WICK_NAMES16 WICK_NAMES8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define WICK_NAMES32 WICK_NAMES16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define WICK_NAMES64 WICK_NAMES32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
                                  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WICK_NAMES96 WICK_NAMES64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
                                  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WICK_PRODUCT(n, type, names, a_name, b_name, keep_name, ...)                                \
  asm volatile("{ .reg .pred keep; setp.ne.b32 keep, " keep_name ", 0;\n"                          \
               "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" names "}, "      \
               a_name ", " b_name ", keep, 1, 1, 0, 0; }\n"                                         \
               : __VA_ARGS__ : "l"(a), "l"(b), "r"(keep ? 1 : 0))
#define WICK_PRODUCTS(type)                                                                                            \
  if constexpr (kN == 8) {                                                                                             \
    WICK_PRODUCT("8", type, WICK_NAMES4, "%4", "%5", "%6", "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]));    \
  } else if constexpr (kN == 16) {                                                                                     \
    WICK_PRODUCT("16", type, WICK_NAMES8, "%8", "%9", "%10", WICK_SUMS8(0));                                           \
  } else if constexpr (kN == 32) {                                                                                     \
    WICK_PRODUCT("32", type, WICK_NAMES16, "%16", "%17", "%18", WICK_SUMS8(0), WICK_SUMS8(8));                         \
  } else if constexpr (kN == 64) {                                                                                     \
    WICK_PRODUCT("64", type, WICK_NAMES32, "%32", "%33", "%34", WICK_SUMS32(0));                                       \
  } else if constexpr (kN == 128) {                                                                                    \
    WICK_PRODUCT("128", type, WICK_NAMES64, "%64", "%65", "%66", WICK_SUMS32(0), WICK_SUMS32(32));                     \
  } else {                                                                                                             \
    static_assert(kN == 192);                                                                                          \
    WICK_PRODUCT("192", type, WICK_NAMES96, "%96", "%97", "%98", WICK_SUMS32(0), WICK_SUMS32(32), WICK_SUMS32(64));    \
  }
// clang-format on

// sum [64, kN] of four warps = a [64, 16] x b [kN, 16]^T, added to what is there if `keep`, in the background. Lane l of
// warp w has rows 16 w + l / 4 (and 8 on) at columns 8 j + l % 4 * 2 (and 1 on) in sum[4 j] to sum[4 j + 3].
template <typename T, int kN>
__device__ __forceinline__ void multiply_async(float (&sum)[kN / 2], uint64_t a, uint64_t b, bool keep) {
  if constexpr (std::is_same_v<T, __half>) {
    WICK_PRODUCTS("f16")
  } else {
    WICK_PRODUCTS("bf16")
  }
}

#undef WICK_PRODUCTS
#undef WICK_PRODUCT
#undef WICK_SUMS8
#undef WICK_SUMS32
#undef WICK_NAMES4
#undef WICK_NAMES8
#undef WICK_NAMES16
#undef WICK_NAMES32
#undef WICK_NAMES64
#undef WICK_NAMES96
#endif

}  // namespace wick::cuda
