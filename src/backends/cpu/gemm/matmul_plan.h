#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/tensor.h"

namespace wick::cpu {

// The sum over k is cut into blocks of this many products, whatever the sizes: partial sums of blocks are added in
// order, so a result depends on k and on the layout of b alone.
inline constexpr int64_t kSumBlock = 1024;

// One matmul as the kernels see it; strides in elements. Batch dimensions that multiply one b by consecutive rows of a
// are folded into m.
struct MatmulPlan {
  const std::byte *a = nullptr, *b = nullptr;
  std::byte* out = nullptr;
  DType a_type, b_type, out_type;
  int64_t m = 0, n = 0, k = 0;
  int64_t a_row = 0, a_col = 0;  // a [m, k]
  int64_t b_row = 0, b_col = 0;  // b [k, n]
  int64_t batches = 1;
  int batch_rank = 0;
  std::array<int64_t, kMaxRank> batch_sizes{}, a_batch{}, b_batch{};

  const std::byte* a_at(int64_t batch) const { return a + offset(a_batch, batch) * size_of(a_type); }
  const std::byte* b_at(int64_t batch) const { return b + offset(b_batch, batch) * size_of(b_type); }
  std::byte* out_at(int64_t batch) const { return out + batch * m * n * size_of(out_type); }

 private:
  int64_t offset(const std::array<int64_t, kMaxRank>& strides, int64_t batch) const {
    int64_t result = 0;
    for (int d = batch_rank - 1; d >= 0; --d) {
      result += batch % batch_sizes[d] * strides[d];
      batch /= batch_sizes[d];
    }
    return result;
  }
};

// b's columns lie along memory (weights stored [n, k]), or b has no unit stride: each result is a dot product, lane l
// of a vector summing the products k = l modulo the number of lanes.
void matmul_dot(const MatmulPlan& plan);
// b's rows lie along memory: vectors run over n and each result sums its products in order of k.
void matmul_outer(const MatmulPlan& plan);

// visit_dtype for the float types only.
template <typename Body>
void visit_float(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64: return body(double{});
    case DType::kF32: return body(float{});
    case DType::kF16: return body(Half{});
    case DType::kBF16: return body(BFloat16{});
    default: throw Error(ErrorCode::kInternal, cat("dtype ", to_string(dtype), " is not a float"));
  }
}

// Cuts [0, size) into parts whose lengths differ by at most one.
struct EvenSplit {
  int64_t size, parts;
  int64_t begin(int64_t part) const { return part * (size / parts) + std::min(part, size % parts); }
  int64_t length(int64_t part) const { return size / parts + (part < size % parts ? 1 : 0); }
};
inline EvenSplit split_evenly(int64_t size, int64_t most) {
  return {size, std::max<int64_t>(1, (size + most - 1) / most)};
}

}  // namespace wick::cpu
