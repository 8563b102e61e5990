#include "backends/reference/kernels.h"
#include "backends/reference/lines.h"

namespace wick::reference {

void rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, const Tensor& out) {
  const FloatView in(x), to(out), cosine(cos), sine(sin);
  const int dim = x.rank() - 1;
  const int64_t pairs = cos.dim(1);
  for_each_line(x.shape(), dim, [&](const Index& line) {
    const int64_t token = line[dim - 1];
    for (int64_t i = 0; i < pairs; ++i) {
      const Index first = moved(line, dim, interleaved ? 2 * i : i);
      const Index second = moved(line, dim, interleaved ? 2 * i + 1 : i + pairs);
      const double a = in.get(first), b = in.get(second), c = cosine.get({token, i}), s = sine.get({token, i});
      to.set(first, a * c - b * s);
      to.set(second, a * s + b * c);
    }
    for (int64_t i = 2 * pairs; i < x.dim(dim); ++i) to.set(moved(line, dim, i), in.get(moved(line, dim, i)));
  });
}

}  // namespace wick::reference
