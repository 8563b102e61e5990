#pragma once

#include <algorithm>

#include "backends/cpu/basic/convert.h"
#include "tensor/tensor.h"

namespace wick::cpu {

// The element type kernels compute in: f32 for f16 and bf16, otherwise the type itself.
inline DType compute_dtype(DType dtype) { return dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32 : dtype; }

// An input of any layout and dtype, seen as one row-major sequence and handed out in runs of the compute type: in place
// where the elements already lie so, else through a buffer of the caller's.
class Source {
 public:
  Source() = default;
  Source(const Tensor& x, DType compute)
      : Source(x.raw(), x.dtype(), compute, merge_loops<1>(x.shape(), {x.strides()})) {}
  Source(const std::byte* data, DType dtype, DType compute, const LoopNest<1>& nest)
      : data_(data),
        size_(size_of(dtype)),
        compute_size_(size_of(compute)),
        convert_(converter(dtype, compute)),
        nest_(nest),
        row_(nest.inner_size()),
        stride_(nest.rank ? nest.inner_stride(0) : 0),
        in_place_(dtype == compute),
        rows_are_long_(row_ >= kLongRow || nest.rank <= 1) {}

  int64_t compute_size() const { return compute_size_; }
  // Every element is the same one.
  bool repeats() const { return row_ == 1 || (stride_ == 0 && nest_.rank <= 1); }
  // All of it can be handed out without a buffer.
  bool is_array() const { return in_place_ && stride_ == 1 && nest_.rank <= 1 && !repeats(); }
  // The length after which short rows repeat, or 0: then the elements from any place on are found in a buffer that
  // holds the run and one period more.
  int64_t period() const { return nest_.rank == 2 && nest_.strides[0][0] == 0 && !rows_are_long_ ? row_ : 0; }
  static constexpr int64_t kMostPeriod = 127;

  // How far a run from `begin` may go, at most `most`, so that long rows are handed out in place.
  int64_t limit(int64_t begin, int64_t most) const {
    return rows_are_long_ && nest_.rank > 1 ? std::min(most, row_ - begin % row_) : most;
  }
  // True when [begin, begin + limit()) is one element repeated, so that fetch of one element gives all.
  bool repeats_in_row() const { return rows_are_long_ && stride_ == 0; }

  // Elements [begin, begin + count), counted from an element `base` storage elements further on than the first;
  // `buffer` has room for them.
  const void* fetch(int64_t begin, int64_t count, void* buffer, int64_t base = 0) const;

 private:
  static constexpr int64_t kLongRow = kMostPeriod + 1;

  void fill_rows(int64_t begin, int64_t count, int64_t base, std::byte* to) const;

  const std::byte* data_ = nullptr;
  int64_t size_ = 0, compute_size_ = 0;  // bytes per element, as stored and as handed out
  ConvertFn convert_ = nullptr;
  LoopNest<1> nest_;
  int64_t row_ = 1, stride_ = 1;  // of the innermost loop
  bool in_place_ = false, rows_are_long_ = false;
};

}  // namespace wick::cpu
