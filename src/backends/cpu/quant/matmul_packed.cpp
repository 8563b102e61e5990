#include <algorithm>
#include <cstring>

#include "backends/cpu/gemm/matmul_plan.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/quant/packed_plan.h"
#include "backends/cpu/scratch.h"
#include "base/checked.h"
#include "base/thread_pool.h"
#include "quant/format.h"

namespace wick::cpu {
namespace {

PackedKernels kernels_of(DType dtype) {
  for (const auto find : {packed_kernels32, packed_kernels256, packed_kernels_codebook}) {
    if (const PackedKernels kernels = find(dtype); kernels.block != 0) return kernels;
  }
  return {};
}

// Without an integer kernel: a thread decodes some weight rows at a time and multiplies them as f32 while they are in
// its cache.
void matmul_decoded(const Tensor& x, const Tensor& w, const Tensor& out) {
  constexpr int64_t kColumns = 64;
  const QuantFormat& format = quant_format(w.dtype());
  const int64_t rows = x.dim(0), k = w.dim(1), n = w.dim(0), row_bytes = bytes_of(w.dtype(), w.strides()[0]);
  const int64_t size = size_of(out.dtype());
  if (k == 0) std::fill_n(out.raw(), rows * n * size, std::byte{0});
  if (k == 0 || rows == 0) return;
  parallel_for(n, kColumns, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; column += kColumns) {
      const int64_t columns = std::min(kColumns, end - column);
      float* weights = scratch<float, struct DecodedWeights>(static_cast<uint64_t>(columns * k));
      std::byte* product = scratch<std::byte, struct DecodedProduct>(static_cast<uint64_t>(rows * columns * size));
      for (int64_t i = 0; i < columns; ++i) format.decode(w.raw() + (column + i) * row_bytes, weights + i * k, k);
      MatmulPlan plan{.a = x.raw(), .b = reinterpret_cast<const std::byte*>(weights), .out = product};
      plan.a_type = x.dtype(), plan.b_type = DType::kF32, plan.out_type = out.dtype();
      plan.m = rows, plan.k = k, plan.n = columns;
      plan.a_row = x.strides()[0], plan.a_col = x.strides()[1];
      plan.b_row = 1, plan.b_col = k;
      matmul_dot(plan);
      for (int64_t row = 0; row < rows; ++row) {
        std::memcpy(out.raw() + (row * n + column) * size, product + row * columns * size,
                    static_cast<size_t>(columns * size));
      }
    }
  });
}

}  // namespace

void multiply_packed(const Tensor& x, const Tensor& w, const Tensor& out, PackedActivations& packed) {
  const PackedKernels kernels = kernels_of(w.dtype());
  const int64_t rows = x.dim(0), k = x.dim(1), n = w.dim(0);
  // Every block begins at an even address in the files there are; one that does not is copied by the decoder.
  const bool aligned = reinterpret_cast<uintptr_t>(w.raw()) % 2 == 0;
  if (kernels.block == 0 || k == 0 || !aligned) return matmul_decoded(x, w, out);
  if (!packed.q || packed.block != kernels.block) packed = pack_activations(x, kernels.block);
  const PackedJob job{packed, w.raw(), n, bytes_of(w.dtype(), w.strides()[0]), out.raw(), out.dtype()};
  const bool few = rows < kernels.many_rows;
  const auto body = few ? kernels.few : kernels.many;
  // Pieces large enough to hide their start and what is fetched beyond their end, small enough to share out evenly.
  const int64_t share = round_up(ceil_div(n, ThreadPool::instance().size()), kPanel);
  const int64_t most = round_up(ceil_div(512 << 10, bytes_of(w.dtype(), k)), kPanel);
  const int64_t piece = few ? most : std::max(most, panels_at_once(k, rows) * kPanel);
  parallel_for(n, std::min(share, piece), [&](int64_t begin, int64_t end) { body(job, begin, end); });
}

void matmul_packed(const Tensor& x, const Tensor& w, const Tensor& out) {
  PackedActivations packed;
  multiply_packed(x, w, out, packed);
}

}  // namespace wick::cpu
