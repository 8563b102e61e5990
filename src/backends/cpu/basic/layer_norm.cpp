#include <algorithm>
#include <cmath>

#include "backends/cpu/basic/lines.h"
#include "backends/cpu/basic/moments.h"
#include "backends/cpu/kernels.h"
#include "base/thread_pool.h"

namespace wick::cpu {
namespace {

constexpr int64_t kPiece = 16384;

struct RowTag;
struct WeightTag;
struct BiasTag;

// A weight or bias vector in the compute type, or null.
template <typename T, typename Tag>
const T* vector_of(const Tensor& vector) {
  if (!vector.defined()) return nullptr;
  return static_cast<const T*>(Source(vector, dtype_of<T>()).fetch(0, vector.numel(), scratch<T, Tag>(vector.numel())));
}

// Around 0, for the norm without centring.
template <typename T>
RowMoments<T> row_squares(const RowKernels<T>& kernels, const T* x, int64_t size) {
  RowMoments<T> result{static_cast<double>(size)};
  for (int64_t i = 0; i < size; i += kChunk) {
    T distance, square;
    kernels.moments(x + i, std::min(kChunk, size - i), T{0}, &distance, &square);
    result.squares += static_cast<double>(square);
  }
  return result;
}

// (x - mean) / sqrt(var + eps) row by row; without centring, the mean is taken as 0.
template <typename T>
void norm_rows(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, bool centred, const Tensor& out) {
  const auto& kernels = row_kernels<T>();
  const Lines lines(x, x.rank() - 1);
  const Source source(x.raw(), x.dtype(), dtype_of<T>(), lines.nest());
  const Sink sink(out, dtype_of<T>());
  const T* scale = vector_of<T, WeightTag>(weight);
  const T* shift = vector_of<T, BiasTag>(bias);
  const int64_t size = lines.size;
  parallel_for(lines.count(), std::max<int64_t>(1, kPiece / size), [&](int64_t begin, int64_t end) {
    T* buffer = scratch<T, RowTag>(size);
    alignas(64) T made[kChunk];
    for (int64_t line = begin; line < end; ++line) {
      const T* row = static_cast<const T*>(source.fetch(0, size, buffer, lines.offset(line)));
      const T* next = row == buffer || line + 1 == end ? row : row + (lines.offset(line + 1) - lines.offset(line));
      const RowMoments<T> moments = centred ? row_moments(kernels, row, size) : row_squares(kernels, row, size);
      const double variance = moments.squares / moments.count;
      const T factor = static_cast<T>(1 / std::sqrt(variance + static_cast<double>(eps)));
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t n = std::min(kChunk, size - i), at = line * size + i;
        T* to = static_cast<T*>(sink.place(at, made));
        kernels.normalize(row + i, n, moments.centre, static_cast<T>(moments.rest), factor, scale ? scale + i : nullptr,
                          shift ? shift + i : nullptr, to, sink.streams(to), next + i);
        sink.flush(to, at, n);
      }
    }
    if (sink.large) end_stream();
  });
}

void norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, bool centred, const Tensor& out) {
  if (x.numel() == 0) return;
  if (x.dtype() == DType::kF64) return norm_rows<double>(x, weight, bias, eps, centred, out);
  norm_rows<float>(x, weight, bias, eps, centred, out);
}

}  // namespace

void layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, float eps, const Tensor& out) {
  norm(x, weight, bias, eps, true, out);
}

void rms_norm(const Tensor& x, const Tensor& weight, float eps, const Tensor& out) {
  norm(x, weight, Tensor(), eps, false, out);
}

}  // namespace wick::cpu
