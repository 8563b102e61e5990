#pragma once

#include <cuda.h>

#include "backends/cuda/gemm/mma.cuh"

// Instructions of compute capability 9.0a: copies by TMA, barriers that count their bytes, clusters of
// blocks that see each other's shared memory, and products of warpgroups that read it.
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
// Makes new barriers known to TMA and the cluster.
__device__ __forceinline__ void publish_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
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
// The same at once, for lanes that look at different barriers.
__device__ __forceinline__ bool has_just_passed(uint32_t barrier, uint32_t parity) {
  uint32_t passed = 0;
  asm volatile(
      "{ .reg .pred passed; mbarrier.test_wait.parity.shared::cta.b64 passed, [%1], %2; selp.u32 %0, 1, 0, passed; }"
      : "=r"(passed)
      : "r"(barrier), "r"(parity)
      : "memory");
  return passed;
}
__device__ __forceinline__ void wait_barrier(uint32_t barrier, uint32_t parity) {
  while (!has_passed(barrier, parity)) {
  }
}

// True of one lane of the warp, and the compiler knows: what it starts need not be sorted out lane by lane.
__device__ __forceinline__ bool is_elected() {
  uint32_t elected = 0;
  asm volatile("{ .reg .pred one; elect.sync _|one, 0xffffffff; selp.u32 %0, 1, 0, one; }" : "=r"(elected));
  return elected;
}

// The same place in the shared memory of another block of the cluster.
__device__ __forceinline__ uint32_t in_block(uint32_t address, uint32_t rank) {
  uint32_t there = 0;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(address), "r"(rank));
  return there;
}
__device__ __forceinline__ void arrive_at(uint32_t cluster_barrier) {
  asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(cluster_barrier) : "memory");
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

// A box of the map's matrix, from this row and column on, to shared memory.
__device__ __forceinline__ void fetch_box(uint32_t place, const CUtensorMap& map, int row, int column,
                                          uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          place),
      "l"(&map), "r"(column), "r"(row), "r"(barrier)
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

// A stretch of memory to shared memory: a multiple of 16 bytes between places at multiples of 16.
__device__ __forceinline__ void fetch_bytes(uint32_t place, const void* from, int bytes, uint32_t barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place),
               "l"(from), "r"(bytes), "r"(barrier)
               : "memory");
}

// Registers of each thread, from or for the other warpgroups.
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

// Keeps an address in a register; the compiler would rather work it out again in every round of a loop.
__device__ __forceinline__ uint32_t held(uint32_t address) {
  asm volatile("" : "+r"(address));
  return address;
}

// What multiply_async calls a matrix in shared memory: rows of 128 bytes, their 16-byte chunks turned by the row (the
// 128-byte swizzle), 8 rows after 1024 bytes. In units of 16 bytes: 16 columns are 2 apart. This is the lower half of
// the descriptor; the upper one is always the same.
__device__ __forceinline__ uint32_t describe(uint32_t address) { return (address & 0x3ffff) >> 4 | 1u << 16; }

__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
// Until at most kPending groups of products are under way.
template <int kPending>
__device__ __forceinline__ void wait_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Shared memory written by threads is seen by products that start behind it.
__device__ __forceinline__ void publish_to_products() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// Threads of some warps, all of which name the same barrier (from 1 on).
__device__ __forceinline__ void sync_threads(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// The same without waiting for the others.
__device__ __forceinline__ void arrive_threads(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
// All of them come, and whether one says yes.
__device__ __forceinline__ bool any_thread(int barrier, int threads, bool yes) {
  uint32_t any;
  asm volatile(
      "{ .reg .pred yes, any; setp.ne.b32 yes, %3, 0; bar.red.or.pred any, %1, %2, yes; selp.u32 %0, 1, 0, any; }"
      : "=r"(any)
      : "r"(barrier), "r"(threads), "r"(yes ? 1 : 0)
      : "memory");
  return any;
}

// clang-format off
#define WICK_SUMS4(i) "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3])
#define WICK_SUMS8(i) WICK_SUMS4(i), WICK_SUMS4(i + 4)
#define WICK_SUMS16(i) WICK_SUMS8(i), WICK_SUMS8(i + 8)
#define WICK_SUMS32(i) WICK_SUMS16(i), WICK_SUMS16(i + 16)
#define WICK_NAMES4 "%0, %1, %2, %3"
#define WICK_NAMES8 WICK_NAMES4 ", %4, %5, %6, %7"
#define WICK_NAMES12 WICK_NAMES8 ", %8, %9, %10, %11"
#define WICK_NAMES16 WICK_NAMES12 ", %12, %13, %14, %15"
#define WICK_NAMES24 WICK_NAMES16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define WICK_NAMES32 WICK_NAMES24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define WICK_NAMES48 WICK_NAMES32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define WICK_NAMES64 WICK_NAMES48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define WICK_NAMES96 WICK_NAMES64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
                                  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define WICK_PRODUCT(n, type, names, a_name, b_name, keep_name, ...)                                \
  asm volatile("{ .reg .pred keep; .reg .b64 a, b; setp.ne.b32 keep, " keep_name ", 0;\n"          \
               "mov.b64 a, {" a_name ", 0x40000040}; mov.b64 b, {" b_name ", 0x40000040};\n"        \
               "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" names "}, "      \
               "a, b, keep, 1, 1, 0, 0; }\n"                                                        \
               : __VA_ARGS__ : "r"(a), "r"(b), "r"(keep ? 1 : 0))
#define WICK_PRODUCTS(type)                                                                                            \
  if constexpr (kN == 8) {                                                                                             \
    WICK_PRODUCT("8", type, WICK_NAMES4, "%4", "%5", "%6", WICK_SUMS4(0));                                             \
  } else if constexpr (kN == 16) {                                                                                     \
    WICK_PRODUCT("16", type, WICK_NAMES8, "%8", "%9", "%10", WICK_SUMS8(0));                                           \
  } else if constexpr (kN == 24) {                                                                                     \
    WICK_PRODUCT("24", type, WICK_NAMES12, "%12", "%13", "%14", WICK_SUMS8(0), WICK_SUMS4(8));                         \
  } else if constexpr (kN == 32) {                                                                                     \
    WICK_PRODUCT("32", type, WICK_NAMES16, "%16", "%17", "%18", WICK_SUMS16(0));                                       \
  } else if constexpr (kN == 48) {                                                                                     \
    WICK_PRODUCT("48", type, WICK_NAMES24, "%24", "%25", "%26", WICK_SUMS16(0), WICK_SUMS8(16));                       \
  } else if constexpr (kN == 64) {                                                                                     \
    WICK_PRODUCT("64", type, WICK_NAMES32, "%32", "%33", "%34", WICK_SUMS32(0));                                       \
  } else if constexpr (kN == 96) {                                                                                     \
    WICK_PRODUCT("96", type, WICK_NAMES48, "%48", "%49", "%50", WICK_SUMS32(0), WICK_SUMS16(32));                      \
  } else if constexpr (kN == 128) {                                                                                    \
    WICK_PRODUCT("128", type, WICK_NAMES64, "%64", "%65", "%66", WICK_SUMS32(0), WICK_SUMS32(32));                     \
  } else {                                                                                                             \
    static_assert(kN == 192);                                                                                          \
    WICK_PRODUCT("192", type, WICK_NAMES96, "%96", "%97", "%98", WICK_SUMS32(0), WICK_SUMS32(32), WICK_SUMS32(64));    \
  }
// clang-format on

// sum [64, kN] of a warpgroup = a [64, 16] x b [kN, 16]^T, added to what is there if `keep`, in the background. Lane l
// of warp w has rows 16 w + l / 4 (and 8 on) at columns 8 j + l % 4 * 2 (and 1 on) in sum[4 j] to sum[4 j + 3].
template <typename T, int kN>
__device__ __forceinline__ void multiply_async(float (&sum)[kN / 2], uint32_t a, uint32_t b, bool keep) {
  if constexpr (std::is_same_v<T, __half>) {
    WICK_PRODUCTS("f16")
  } else {
    WICK_PRODUCTS("bf16")
  }
}

// The same of whole numbers in 8 bits: sum [64, 96] = a [64, 32] x b [96, 32]^T.
// clang-format off
#define WICK_INTS4(i) "+r"(sum[i]), "+r"(sum[i + 1]), "+r"(sum[i + 2]), "+r"(sum[i + 3])
#define WICK_INTS16(i) WICK_INTS4(i), WICK_INTS4(i + 4), WICK_INTS4(i + 8), WICK_INTS4(i + 12)
// clang-format on
__device__ __forceinline__ void multiply_bytes_async(int (&sum)[48], uint32_t a, uint32_t b, bool keep) {
  asm volatile(
      "{ .reg .pred keep; .reg .b64 a, b; setp.ne.b32 keep, %50, 0;\n"
      "mov.b64 a, {%48, 0x40000040}; mov.b64 b, {%49, 0x40000040};\n"
      "wgmma.mma_async.sync.aligned.m64n96k32.s32.s8.s8 {" WICK_NAMES48 "}, a, b, keep; }\n"
      : WICK_INTS16(0), WICK_INTS16(16), WICK_INTS16(32)
      : "r"(a), "r"(b), "r"(keep ? 1 : 0));
}
#undef WICK_INTS4
#undef WICK_INTS16

// Keeps what is done with results behind the wait for them, of which the compiler does not know.
template <int kCount>
__device__ __forceinline__ void hold_products(float (&sum)[kCount]) {
#pragma unroll
  for (float& of : sum) asm volatile("" : "+f"(of));
}
template <int kCount>
__device__ __forceinline__ void hold_products(int (&sum)[kCount]) {
#pragma unroll
  for (int& of : sum) asm volatile("" : "+r"(of));
}

// Products with the right side [16, kN] where neighbours of a row lie together. b is the lower half of its descriptor,
// kLayout the upper one. kKeep: added to what is there; else that is not even looked at, so that it may be anything.
// clang-format off
#define WICK_TO4(c, i) c(sum[i]), c(sum[i + 1]), c(sum[i + 2]), c(sum[i + 3])
#define WICK_TO16(c, i) WICK_TO4(c, i), WICK_TO4(c, i + 4), WICK_TO4(c, i + 8), WICK_TO4(c, i + 12)
#define WICK_TO32(c) WICK_TO16(c, 0), WICK_TO16(c, 16)
#define WICK_TO64(c) WICK_TO32(c), WICK_TO16(c, 32), WICK_TO16(c, 48)
#define WICK_COLUMNS(n, type, names, a_setup, a_name, b_name, upper_name, keep_name, trans, sums, ...)               \
  asm volatile("{ .reg .pred keep; .reg .b64 a, b; setp.ne.b32 keep, " keep_name ", 0;\n"                            \
               a_setup " mov.b64 b, {" b_name ", " upper_name "};\n"                                                 \
               "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" names "}, " a_name ", b, keep, "   \
               "1, 1, " trans "; }\n"                                                                                \
               : sums : __VA_ARGS__, "r"(b), "n"(kLayout), "n"(kKeep ? 1 : 0))
#define WICK_BOTH_SHARED(type, c)                                                                                     \
  WICK_COLUMNS("128", type, WICK_NAMES64, "mov.b64 a, {%64, 0x40000040};", "a", "%65", "%66", "%67", "0, 1",          \
               WICK_TO64(c), "r"(a))
#define WICK_LEFT_HELD(type, c)                                                                                       \
  if constexpr (kN == 64) {                                                                                           \
    WICK_COLUMNS("64", type, WICK_NAMES32, "", "{%32, %33, %34, %35}", "%36", "%37", "%38", "1", WICK_TO32(c),        \
                 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));                                                         \
  } else {                                                                                                            \
    static_assert(kN == 128);                                                                                         \
    WICK_COLUMNS("128", type, WICK_NAMES64, "", "{%64, %65, %66, %67}", "%68", "%69", "%70", "1", WICK_TO64(c),       \
                 "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]));                                                         \
  }
#define WICK_EITHER(product)                                  \
  if constexpr (std::is_same_v<T, __half>) {                  \
    if constexpr (kKeep) { product("f16", "+f"); }            \
    if constexpr (!kKeep) { product("f16", "=f"); }           \
  } else {                                                    \
    if constexpr (kKeep) { product("bf16", "+f"); }           \
    if constexpr (!kKeep) { product("bf16", "=f"); }          \
  }
// clang-format on

// sum [64, 128] of a warpgroup = a [64, 16] x b [16, 128], in the background; a as for multiply_async.
template <typename T, uint32_t kLayout, bool kKeep>
__device__ __forceinline__ void multiply_columns_async(float (&sum)[64], uint32_t a, uint32_t b) {
  WICK_EITHER(WICK_BOTH_SHARED)
}

// sum [64, kN] of a warpgroup = a [64, 16] x b [16, kN], where lanes hold a as for mma and until the product is done.
template <typename T, int kN, uint32_t kLayout, bool kKeep>
__device__ __forceinline__ void multiply_columns_async(float (&sum)[kN / 2], const uint32_t (&a)[4], uint32_t b) {
  WICK_EITHER(WICK_LEFT_HELD)
}

// The same, whether to keep being known when this is compiled.
template <typename T, int kN, uint32_t kLayout>
__device__ __forceinline__ void multiply_columns_async(bool keep, float (&sum)[kN / 2], const uint32_t (&a)[4],
                                                       uint32_t b) {
  if (keep) {
    multiply_columns_async<T, kN, kLayout, true>(sum, a, b);
  } else {
    multiply_columns_async<T, kN, kLayout, false>(sum, a, b);
  }
}

#undef WICK_EITHER
#undef WICK_LEFT_HELD
#undef WICK_BOTH_SHARED
#undef WICK_TO4
#undef WICK_TO16
#undef WICK_TO32
#undef WICK_TO64
#undef WICK_COLUMNS
#undef WICK_PRODUCTS
#undef WICK_PRODUCT
#undef WICK_SUMS4
#undef WICK_SUMS8
#undef WICK_SUMS16
#undef WICK_SUMS32
#undef WICK_NAMES4
#undef WICK_NAMES8
#undef WICK_NAMES12
#undef WICK_NAMES16
#undef WICK_NAMES24
#undef WICK_NAMES32
#undef WICK_NAMES48
#undef WICK_NAMES64
#undef WICK_NAMES96
#endif

}  // namespace wick::cuda
