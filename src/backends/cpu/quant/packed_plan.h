#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "tensor/tensor.h"

namespace wick::cpu {

// Activations rounded to 8 bits, made once per matmul. A block is 32 or 256 neighbouring values of a row, whichever
// the weight format has; value = scale * q, |q| <= 127.
struct PackedActivations {
  int64_t rows = 0, k = 0;
  int block = 32;                // 32 or 256
  const int8_t* q = nullptr;     // [rows, k]
  const float* scale = nullptr;  // [rows, k / block]
  // Sums of q over 32 values (block 32) or 16 (block 256): [rows, k / 32 or k / 16]. The 16 sums of a block of 256 are
  // those of groups 0, 2, 4, ... and then 1, 3, 5, ...
  const int16_t* sums = nullptr;
};

// Columns of the product that the kernel for many rows computes together.
inline constexpr int64_t kPanel = 16;
// Panels that are unpacked together, so that many rows of activations are read once for all of them: about 256 KiB. A
// few rows stay in the first-level cache, where a panel should be too.
inline int64_t panels_at_once(int64_t k, int64_t rows) {
  return rows <= 32 ? 1 : std::clamp<int64_t>((256 << 10) / (kPanel * k), 1, 16);
}

// One matmul: x [rows, k] and n rows of packed weights, out [rows, n].
struct PackedJob {
  PackedActivations x;
  const std::byte* w = nullptr;
  int64_t n = 0;
  int64_t row_bytes = 0;  // from one weight row to the next
  std::byte* out = nullptr;
  DType out_type = DType::kF32;
};

// The kernels of one format: both compute columns [begin, end) of every row, with the same arithmetic per element.
struct PackedKernels {
  int block = 0;      // of the activations; 0: the format has no integer kernel
  int many_rows = 0;  // from here on unpacking the weights into panels pays
  void (*few)(const PackedJob& job, int64_t begin, int64_t end) = nullptr;   // reads the weights once per 4 rows
  void (*many)(const PackedJob& job, int64_t begin, int64_t end) = nullptr;  // unpacks panels of weights first
};

// For the CPU at hand; chosen at run time: formats of 32 weights per scale, of 256 with integer scales, and
// those with codebooks.
PackedKernels packed_kernels32(DType dtype);
PackedKernels packed_kernels256(DType dtype);
PackedKernels packed_kernels_codebook(DType dtype);

// Rounds x [rows, k] (f32, f16 or bf16; row-major) into memory that lasts until this thread's next call.
PackedActivations pack_activations(const Tensor& x, int block);

// matmul_packed, with activations of x that an earlier product on this thread may have packed already: `packed` holds
// those of the last one.
void multiply_packed(const Tensor& x, const Tensor& w, const Tensor& out, PackedActivations& packed);

}  // namespace wick::cpu
