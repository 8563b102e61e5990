#include <vector>

#include "backends/reference/kernels.h"
#include "quant/format.h"

namespace wick::reference {

// The exact product of the decoded weights: activations are not rounded here.
void matmul_packed(const Tensor& x, const Tensor& w, const Tensor& out) {
  const QuantFormat& format = quant_format(w.dtype());
  const int64_t m = x.dim(0), k = x.dim(1), n = w.dim(0), row_bytes = bytes_of(w.dtype(), w.strides()[0]);
  std::vector<float> weights(k);
  visit_dtype(x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto* from = reinterpret_cast<const T*>(x.raw());
    auto* to = reinterpret_cast<T*>(out.raw());
    for (int64_t col = 0; col < n; ++col) {
      format.decode(w.raw() + col * row_bytes, weights.data(), k);
      for (int64_t row = 0; row < m; ++row) {
        double sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += convert<double>(from[row * k + i]) * weights[i];
        to[row * n + col] = convert<T>(sum);
      }
    }
  });
}

}  // namespace wick::reference
