// Entries that still run the reference kernel; each moves to its own file.
#include "backends/cpu/kernels.h"
#include "backends/reference/kernels.h"

namespace wick::cpu {

void arg_reduce(ArgReduceOp op, const Tensor& x, int dim, const Tensor& out) { reference::arg_reduce(op, x, dim, out); }
void cumsum(const Tensor& x, int dim, const Tensor& out) { reference::cumsum(x, dim, out); }
void sort(const Tensor& x, int dim, bool descending, const Tensor& values, const Tensor& indices) {
  reference::sort(x, dim, descending, values, indices);
}
void topk(const Tensor& x, int dim, bool largest, const Tensor& values, const Tensor& indices) {
  reference::topk(x, dim, largest, values, indices);
}
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
