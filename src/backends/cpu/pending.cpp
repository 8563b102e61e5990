// Entries that still run the reference kernel; each moves to its own file.
#include "backends/cpu/kernels.h"
#include "backends/reference/kernels.h"

namespace wick::cpu {

void matmul(const Tensor& a, const Tensor& b, const Tensor& out) { reference::matmul(a, b, out); }
void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttentionParams& params,
               const Tensor& out) {
  reference::attention(q, k, v, mask, params, out);
}
void conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params, const Tensor& out) {
  reference::conv2d(x, weight, bias, params, out);
}
void conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dParams& params,
                      const Tensor& out) {
  reference::conv_transpose2d(x, weight, bias, params, out);
}
void conv2d_weight_grad(const Tensor& x, const Tensor& grad, const Conv2dParams& params, const Tensor& out) {
  reference::conv2d_weight_grad(x, grad, params, out);
}
void avg_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out) {
  reference::avg_pool2d(x, params, out);
}
void avg_pool2d_grad(const Tensor& grad, const Pool2dParams& params, const Tensor& out) {
  reference::avg_pool2d_grad(grad, params, out);
}
void max_pool2d(const Tensor& x, const Pool2dParams& params, const Tensor& out, const Tensor& indices) {
  reference::max_pool2d(x, params, out, indices);
}
void resample2d(const Tensor& x, const Tensor& rows_index, const Tensor& rows_weight, const Tensor& cols_index,
                const Tensor& cols_weight, const Tensor& out) {
  reference::resample2d(x, rows_index, rows_weight, cols_index, cols_weight, out);
}

}  // namespace wick::cpu
