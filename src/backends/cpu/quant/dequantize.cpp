#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"
#include "quant/format.h"

namespace wick::cpu {

void dequantize(const Tensor& w, const Tensor& rows, const Tensor& out) {
  constexpr int64_t kPiece = 16384;  // weights a thread takes at a time
  const QuantFormat& format = quant_format(w.dtype());
  const int64_t k = w.dim(1), row_bytes = bytes_of(w.dtype(), w.strides()[0]);
  const Tensor places = rows.defined() ? rows.contiguous() : rows;
  const auto* place = rows.defined() ? places.data<int64_t>() : nullptr;
  auto* to = reinterpret_cast<float*>(out.raw());
  parallel_for(out.dim(0), std::max<int64_t>(1, kPiece / std::max<int64_t>(1, k)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) format.decode(w.raw() + (place ? place[i] : i) * row_bytes, to + i * k, k);
  });
}

}  // namespace wick::cpu
