#include <algorithm>

#include "backends/cpu/basic/lines.h"
#include "backends/cpu/basic/rotate_pairs.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;

struct RowTag;
struct OutTag;
struct CosTag;
struct SinTag;

template <typename T>
void rope_as(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, const Tensor& out) {
  const Lines lines(x, x.rank() - 1);
  const Source source(x.raw(), x.dtype(), dtype_of<T>(), lines.nest());
  const Source cosines(cos, dtype_of<T>()), sines(sin, dtype_of<T>());
  const Sink sink(out, dtype_of<T>());
  const int64_t size = lines.size, tokens = x.dim(-2), pairs = cos.dim(1);
  parallel_for(lines.count(), std::max<int64_t>(1, kPiece / size), [&](int64_t begin, int64_t end) {
    T* buffer = scratch<T, RowTag>(size);
    T* made = scratch<T, OutTag>(size);
    T* cos_buffer = scratch<T, CosTag>(pairs);
    T* sin_buffer = scratch<T, SinTag>(pairs);
    for (int64_t line = begin; line < end; ++line) {
      const int64_t token = line % tokens, at = line * size;
      const T* row = static_cast<const T*>(source.fetch(0, size, buffer, lines.offset(line)));
      T* to = static_cast<T*>(sink.place(at, made));
      if (pairs > 0) {
        rotate_pairs(row, static_cast<const T*>(cosines.fetch(token * pairs, pairs, cos_buffer)),
                     static_cast<const T*>(sines.fetch(token * pairs, pairs, sin_buffer)), pairs, interleaved, to);
      }
      std::copy(row + 2 * pairs, row + size, to + 2 * pairs);
      sink.flush(to, at, size);
    }
  });
}

}  // namespace

void rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved, const Tensor& out) {
  if (x.numel() == 0) return;
  if (x.dtype() == DType::kF64) return rope_as<double>(x, cos, sin, interleaved, out);
  rope_as<float>(x, cos, sin, interleaved, out);
}

}  // namespace wick::cpu
