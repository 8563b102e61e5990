#include <algorithm>
#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/lines.h"
#include "backends/cpu/row_kernels.h"
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

// Adds up a kernel's results over the chunks of a row.
template <typename Chunk>
double over_chunks(int64_t size, const Chunk& chunk) {
  double total = 0;
  for (int64_t i = 0; i < size; i += kChunk) total += static_cast<double>(chunk(i, std::min(kChunk, size - i)));
  return total;
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
  const auto count = static_cast<double>(size);
  parallel_for(lines.count(), std::max<int64_t>(1, kPiece / size), [&](int64_t begin, int64_t end) {
    T* buffer = scratch<T, RowTag>(size);
    alignas(64) T made[kChunk];
    for (int64_t line = begin; line < end; ++line) {
      const T* row = static_cast<const T*>(source.fetch(0, size, buffer, lines.offset(line)));
      // The mean is centre + rest: rounded, and what rounding left.
      T centre = 0;
      double rest = 0;
      if (centred) {
        centre =
            static_cast<T>(over_chunks(size, [&](int64_t i, int64_t n) { return kernels.sum(row + i, n); }) / count);
        rest = over_chunks(size, [&](int64_t i, int64_t n) { return kernels.distances(row + i, n, centre); }) / count;
      }
      const double squares =
          over_chunks(size, [&](int64_t i, int64_t n) { return kernels.squares(row + i, n, centre); });
      const double variance = squares / count - rest * rest;
      const T factor = static_cast<T>(1 / std::sqrt(variance + static_cast<double>(eps)));
      for (int64_t i = 0; i < size; i += kChunk) {
        const int64_t n = std::min(kChunk, size - i), at = line * size + i;
        T* to = static_cast<T*>(sink.place(at, made));
        kernels.normalize(row + i, n, centre, static_cast<T>(rest), factor, scale ? scale + i : nullptr,
                          shift ? shift + i : nullptr, to);
        sink.flush(to, at, n);
      }
    }
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
