#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

// Tensor-core and copy instructions of sm_80, shared by the matrix products and by attention.
namespace wick::cuda {

// Two neighbouring elements in one register.
__device__ __forceinline__ uint32_t pack_pair(__half2 pair) { return *reinterpret_cast<uint32_t*>(&pair); }
__device__ __forceinline__ uint32_t pack_pair(__nv_bfloat162 pair) { return *reinterpret_cast<uint32_t*>(&pair); }
template <typename T>
__device__ __forceinline__ uint32_t round_pair(float low, float high) {
  if constexpr (sizeof(T) == 2 && std::is_same_v<T, __half>) {
    return pack_pair(__floats2half2_rn(low, high));
  } else {
    return pack_pair(__floats2bfloat162_rn(low, high));
  }
}

// sum [16, 8] += a [16, 16] x b [16, 8]. Of lane l with row g = l / 4 and t = l % 4:
//   a: rows g and g + 8 at columns 2t, 2t + 1, then the same rows at columns 2t + 8, 2t + 9
//   b: rows 2t, 2t + 1 and 2t + 8, 2t + 9 of column g | sum: rows g and g + 8 at columns 2t, 2t + 1
template <typename T>
__device__ __forceinline__ void mma(float (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<T, __half>) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}

// Of numbers in 8 bits, those of b with a sign and those of a with kSigned: sum [16, 8] += a [16, 32] x b [32, 8].
//   a: rows g and g + 8 at columns 4t to 4t + 3, then the same rows at columns 4t + 16 to 4t + 19
//   b: rows 4t to 4t + 3 and 4t + 16 to 4t + 19 of column g | sum: as above
template <bool kSigned>
__device__ __forceinline__ void mma_bytes(int (&sum)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (kSigned) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
}
// The first 16 columns only; numbers of a have a sign.
__device__ __forceinline__ void mma_half_bytes(int (&sum)[4], uint32_t upper, uint32_t lower, uint32_t b) {
  asm("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
      : "r"(upper), "r"(lower), "r"(b));
}

// Four 8 x 8 matrices of 2-byte elements; lane l gives the address of row l % 8 of matrix l / 8.
__device__ __forceinline__ void load_matrices(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}
__device__ __forceinline__ void load_matrices_transposed(uint32_t (&to)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address));
}

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
  return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

// 16 bytes to shared memory in the background; zeros unless `valid`.
__device__ __forceinline__ void copy_async(uint32_t to, const void* from, bool valid = true) {
  const int bytes = valid ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes));
}
// The same of what is read once: on Hopper it is the first to leave the L2 cache.
__device__ __forceinline__ void copy_once_async(uint32_t to, const void* from, bool valid) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const int bytes = valid ? 16 : 0;
  uint64_t policy = 0;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2, %3;" ::"r"(to), "l"(from), "r"(bytes),
               "l"(policy));
#else
  copy_async(to, from, valid);
#endif
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;"); }
// Until at most kPending groups of this thread are under way.
template <int kPending>
__device__ __forceinline__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending));
}

// Products over k are cut into this many parts, each added up on its own and then to the sum in order, whatever kernel
// computes them: a row's result is the same alone and among thousands.
inline constexpr int kParts = 8;
inline constexpr int kPartStep = 64;  // a part is a multiple of this
__host__ __device__ inline int64_t part_size(int64_t k) {
  return (k + kParts * kPartStep - 1) / (kParts * kPartStep) * kPartStep;
}

}  // namespace wick::cuda
