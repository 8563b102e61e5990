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
void matmul(const Tensor& a, const Tensor& b, const Tensor& out) { reference::matmul(a, b, out); }
void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttentionParams& params,
               const Tensor& out) {
  reference::attention(q, k, v, mask, params, out);
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
