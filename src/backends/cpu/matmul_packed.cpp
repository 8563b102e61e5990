#include <algorithm>

#include "backends/cpu/kernels.h"
#include "backends/cpu/packed_plan.h"
#include "base/checked.h"
#include "base/thread_pool.h"
#include "tensor/create.h"

namespace wick::cpu {
namespace {

PackedKernels kernels_of(DType dtype) {
  for (const auto find : {packed_kernels32, packed_kernels256, packed_kernels_codebook}) {
    if (const PackedKernels kernels = find(dtype); kernels.block != 0) return kernels;
  }
  return {};
}

// Without an integer kernel: some weight rows at a time are decoded and multiplied as f32.
void matmul_decoded(const Tensor& x, const Tensor& w, const Tensor& out) {
  constexpr int64_t kColumns = 64;
  const int64_t k = w.dim(1), n = w.dim(0);
  for (int64_t column = 0; column < n; column += kColumns) {
    const int64_t columns = std::min(kColumns, n - column);
    const Tensor weights = empty({columns, k}), product = empty({x.dim(0), columns}, out.dtype());
    dequantize(w.with_layout(w.layout().narrow(0, column, columns)), Tensor(), weights);
    matmul(x, weights.with_layout(weights.layout().transpose(0, 1)), product);
    copy(product, out.with_layout(out.layout().narrow(1, column, columns)));
  }
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
