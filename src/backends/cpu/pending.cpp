// Entries that still run the reference kernel; each moves to its own file.
#include "backends/cpu/kernels.h"
#include "backends/reference/kernels.h"

namespace wick::cpu {

void copy(const Tensor& src, const Tensor& dst) { reference::copy(src, dst); }
void unary(UnaryOp op, const Tensor& x, const Tensor& out) { reference::unary(op, x, out); }
void binary(BinaryOp op, const Tensor& a, const Tensor& b, const Tensor& out) { reference::binary(op, a, b, out); }
void compare(CompareOp op, const Tensor& a, const Tensor& b, const Tensor& out) { reference::compare(op, a, b, out); }
void where(const Tensor& condition, const Tensor& a, const Tensor& b, const Tensor& out) {
  reference::where(condition, a, b, out);
}
void clamp(const Tensor& x, double low, double high, const Tensor& out) { reference::clamp(x, low, high, out); }
void reduce(ReduceOp op, const Tensor& x, const Tensor& out) { reference::reduce(op, x, out); }
void variance(const Tensor& x, int64_t correction, const Tensor& out) { reference::variance(x, correction, out); }
void arg_reduce(ArgReduceOp op, const Tensor& x, int dim, const Tensor& out) { reference::arg_reduce(op, x, dim, out); }
void cumsum(const Tensor& x, int dim, const Tensor& out) { reference::cumsum(x, dim, out); }
void sort(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  reference::sort(x, dim, descending, values, indices);
}
void topk(const Tensor& x, int dim, bool largest, const Tensor& values, const Tensor& indices) {
  reference::topk(x, dim, largest, values, indices);
}
void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, const Tensor& out) {
  reference::layer_norm(x, weight, bias, eps, out);
}
void rms_norm(const Tensor& x, const Tensor& weight, float eps, const Tensor& out) {
  reference::rms_norm(x, weight, eps, out);
}
void softmax(const Tensor& x, int dim, const Tensor& out) { reference::softmax(x, dim, out); }
void log_softmax(const Tensor& x, int dim, const Tensor& out) { reference::log_softmax(x, dim, out); }
void rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, const Tensor& out) {
  reference::rope(x, cos, sin, interleaved, out);
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
void gather(const Tensor& x, int dim, const Tensor& index, const Tensor& out) { reference::gather(x, dim, index, out); }
void scatter(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  reference::scatter(out, dim, index, src);
}
void scatter_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  reference::scatter_add(out, dim, index, src);
}
void index_select(const Tensor& x, int dim, const Tensor& index, const Tensor& out) {
  reference::index_select(x, dim, index, out);
}
void index_add(const Tensor& out, int dim, const Tensor& index, const Tensor& src) {
  reference::index_add(out, dim, index, src);
}
void triangle(Triangle part, const Tensor& x, int64_t diagonal, const Tensor& out) {
  reference::triangle(part, x, diagonal, out);
}

}  // namespace wick::cpu
