#include <vector>

#include "backends/reference/kernels.h"
#include "quant/format.h"

namespace wick::reference {

void dequantize(const Tensor& w, const Tensor& rows, const Tensor& out) {
  const QuantFormat& format = quant_format(w.dtype());
  const int64_t k = w.dim(1), row_bytes = bytes_of(w.dtype(), w.strides()[0]);
  const auto places = rows.defined() ? rows.to_vector<int64_t>() : std::vector<int64_t>();
  auto* to = reinterpret_cast<float*>(out.raw());
  for (int64_t i = 0; i < out.dim(0); ++i) {
    format.decode(w.raw() + (rows.defined() ? places[i] : i) * row_bytes, to + i * k, k);
  }
}

}  // namespace wick::reference
