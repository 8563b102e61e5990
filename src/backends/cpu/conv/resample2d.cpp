#include <limits>

#include "backends/cpu/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/conv/resample2d.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep

#include "backends/cpu/conv/conv_image-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace {

// What output columns read, taps outermost so that a vector holds one tap of neighbouring columns.
template <typename T>
struct ColumnTaps {
  using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  int64_t taps, count;
  const Index* index;  // [taps, count]
  const T* weight;     // [taps, count]
};

const int64_t* StageIndex(const Tensor& index, cpu::Scratch& scratch) {
  const auto* from = reinterpret_cast<const int64_t*>(index.raw());
  if (index.is_contiguous()) return from;
  auto* to = scratch.get<int64_t>(index.numel());
  for (int64_t i = 0; i < index.numel(); ++i) {
    to[i] = from[i / index.dim(1) * index.strides()[0] + i % index.dim(1) * index.strides()[1]];
  }
  return to;
}

// index and weight are contiguous [count, taps].
template <typename T>
ColumnTaps<T> TransposeTaps(const int64_t* index, const T* weight, int64_t count, int64_t taps,
                            cpu::Scratch& index_memory, cpu::Scratch& weight_memory) {
  using Index = typename ColumnTaps<T>::Index;
  auto* to_index = index_memory.get<Index>(count * taps);
  T* to_weight = weight_memory.get<T>(count * taps);
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t t = 0; t < taps; ++t) {
      to_index[t * count + i] = static_cast<Index>(index[i * taps + t]);
      to_weight[t * count + i] = weight[i * taps + t];
    }
  }
  return {taps, count, to_index, to_weight};
}

// to[i] = sum of weight[t] * rows[t][i]
template <typename T>
void MixRows(const T* plane, int64_t row_stride, const int64_t* rows, const T* weights, int64_t taps, int64_t width,
             T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  const int64_t lanes = hn::Lanes(d);
  int64_t i = 0;
  for (; i + lanes <= width; i += lanes) {
    auto sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, plane + rows[0] * row_stride + i));
    for (int64_t t = 1; t < taps; ++t) {
      sum = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, plane + rows[t] * row_stride + i), sum);
    }
    hn::StoreU(sum, d, to + i);
  }
  for (; i < width; ++i) {
    T sum = weights[0] * plane[rows[0] * row_stride + i];
    for (int64_t t = 1; t < taps; ++t) sum += weights[t] * plane[rows[t] * row_stride + i];
    to[i] = sum;
  }
}

template <typename T>
void MixColumns(const T* HWY_RESTRICT row, const ColumnTaps<T>& columns, T* HWY_RESTRICT to) {
  const hn::ScalableTag<T> d;
  const hn::RebindToSigned<decltype(d)> di;
  const int64_t lanes = hn::Lanes(d), count = columns.count;
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto sum = hn::Mul(hn::LoadU(d, columns.weight + i), hn::GatherIndex(d, row, hn::LoadU(di, columns.index + i)));
    for (int64_t t = 1; t < columns.taps; ++t) {
      const int64_t at = t * count + i;
      sum = hn::MulAdd(hn::LoadU(d, columns.weight + at), hn::GatherIndex(d, row, hn::LoadU(di, columns.index + at)),
                       sum);
    }
    hn::StoreU(sum, d, to + i);
  }
  for (; i < count; ++i) {
    T sum = columns.weight[i] * row[columns.index[i]];
    for (int64_t t = 1; t < columns.taps; ++t) sum += columns.weight[t * count + i] * row[columns.index[t * count + i]];
    to[i] = sum;
  }
}

template <typename T>
void ResampleAs(const Tensor& x, const Tensor& rows_index, const Tensor& rows_weight, const Tensor& cols_index,
                const Tensor& cols_weight, const Tensor& out) {
  thread_local cpu::Scratch image_memory, row_memory, column_memory, row_index_memory, col_index_memory;
  thread_local cpu::Scratch index_memory, weight_memory;
  const ConvImage<T> image = StageImage<T>(x, 1, image_memory);
  const T* row_weight = StageContiguous<T>(rows_weight, row_memory);
  const int64_t* row_index = StageIndex(rows_index, row_index_memory);
  const ColumnTaps<T> columns =
      TransposeTaps(StageIndex(cols_index, col_index_memory), StageContiguous<T>(cols_weight, column_memory),
                    out.dim(3), cols_index.dim(1), index_memory, weight_memory);
  const int64_t taps = rows_index.dim(1), out_h = out.dim(2), out_w = out.dim(3), channels = out.dim(1);
  const int64_t grain = std::max<int64_t>(1, 16384 / (image.width * taps + out_w * columns.taps + 1));
  parallel_for(out.dim(0) * channels * out_h, grain, [&](int64_t begin, int64_t end) {
    thread_local cpu::Scratch mixed_memory, out_memory;
    T* mixed = mixed_memory.get<T>(image.width);
    for (int64_t r = begin; r < end; ++r) {
      const int64_t oh = r % out_h, plane = r / out_h;
      MixRows(image.plane(plane / channels, plane % channels), image.row_stride, row_index + oh * taps,
              row_weight + oh * taps, taps, image.width, mixed);
      WriteRow<T>(out, r * out_w, out_w, out_memory, [&](T* to) { MixColumns(mixed, columns, to); });
    }
  });
}

}  // namespace

void Resample(const Tensor& x, const Tensor& rows_index, const Tensor& rows_weight, const Tensor& cols_index,
              const Tensor& cols_weight, const Tensor& out) {
  // Columns beyond 32 bits need the wider gather.
  if (ComputesInF64(x, out) || x.dim(3) > std::numeric_limits<int32_t>::max()) {
    ResampleAs<double>(x, rows_index, rows_weight, cols_index, cols_weight, out);
  } else {
    ResampleAs<float>(x, rows_index, rows_weight, cols_index, cols_weight, out);
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(Resample);
namespace cpu {

void resample2d(const Tensor& x, const Tensor& rows_index, const Tensor& rows_weight, const Tensor& cols_index,
                const Tensor& cols_weight, const Tensor& out) {
  if (out.numel() > 0) HWY_DYNAMIC_DISPATCH(Resample)(x, rows_index, rows_weight, cols_index, cols_weight, out);
}

}  // namespace cpu
}  // namespace wick
#endif
