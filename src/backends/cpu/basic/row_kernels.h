#pragma once

#include <cstdint>

namespace wick::cpu {

// Rows longer than this are reduced chunk by chunk and the chunks' results combined in order, in f64: a result never
// depends on threads or on other rows.
inline constexpr int64_t kChunk = 4096;

// The inner loops of reductions, norms and softmax, on contiguous elements of the compute type (f32 or f64). Within a
// chunk, sums run in several vector accumulators that are added up in a fixed order.
template <typename T>
struct RowKernels {
  // Over one row. NaN anywhere makes max and min NaN. `count` is at least 1.
  T (*sum)(const T* x, int64_t count);
  T (*max)(const T* x, int64_t count);
  T (*min)(const T* x, int64_t count);
  T (*peak)(const T* x, int64_t count);  // max without a look at NaN: with one among them, any element
  // The place of the first element equal to `value`, or of the first NaN if that is NaN; `count` without any.
  int64_t (*find)(const T* x, int64_t count, T value);
  // Sums of x - centre and of (x - centre)^2, in one pass.
  void (*moments)(const T* x, int64_t count, T centre, T* distances, T* squares);
  // With `streams`, aligned results are written past the caches. `next` is fetched into them for the next call (or x).
  T (*exp_sum)(const T* x, int64_t count, T most, T* out, const T* next);  // out = e^(x - most), returns the sum
  // The same, while scaling the powers of the row before and writing them past the caches: one waits for memory while
  // the other computes. All rows have `count` elements and `scaled` is aligned.
  T(*exp_sum_and_scale)
  (const T* x, int64_t count, T most, T* out, const T* next, const T* powers, T factor, T* scaled);
  T (*exp_only_sum)(const T* x, int64_t count, T most, const T* next);                   // the same without out
  void (*scale)(const T* x, int64_t count, T factor, T* out, bool streams);              // x * factor
  void (*subtract)(const T* x, int64_t count, T first, T second, T* out, bool streams);  // (x - first) - second
  // ((x - first) - second) * factor * weight + bias; weight and bias may be null.
  void (*normalize)(const T* x, int64_t count, T first, T second, T factor, const T* weight, const T* bias, T* out,
                    bool streams, const T* next);

  // Over columns: one row at a time into an accumulator of the same length.
  void (*add_row)(const T* row, int64_t count, T* total);
  void (*max_row)(const T* row, int64_t count, T* most);
  void (*min_row)(const T* row, int64_t count, T* least);
  void (*add_total)(const T* row, int64_t count, double* total);
  void (*squares_rows)(const T* const rows[4], int64_t count, const T* centre, T* total);  // four at once
  void (*squares_row)(const T* row, int64_t count, const T* centre, T* total);
  // Over `rows` rows, `stride` elements apart, of a tile: one call for many short rows. The largest
  // elements come without a look at NaN, as from peak().
  void (*copy_max_rows)(const T* x, int64_t stride, int64_t rows, int64_t count, T* copy, int64_t copy_stride, T* most);
  void (*exp_rows)(T* x, int64_t stride, int64_t rows, int64_t count, const T* most, bool store, T* total);
  void (*scale_rows)(const T* x, int64_t stride, int64_t rows, int64_t count, const T* factor, T* out,
                     int64_t out_stride, bool streams);
  void (*subtract_rows)(const T* x, int64_t stride, int64_t rows, int64_t count, const T* first, const T* second,
                        T* out, int64_t out_stride, bool streams);
  // Means and squares of columns, merged with those of other rows: see variance.cpp.
  void (*merge_columns)(const double* mean, const double* squares, int64_t count, double share, double spread,
                        double* total_mean, double* total_squares);
};

// The table for this machine's instruction set; T is float or double.
template <typename T>
const RowKernels<T>& row_kernels();

}  // namespace wick::cpu
