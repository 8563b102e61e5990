// Copies parts of matmul operands into contiguous panels of the type sums are made in. Included once per target.
#if defined(WICK_BACKENDS_CPU_MATMUL_PACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_MATMUL_PACK_INL_H
#undef WICK_BACKENDS_CPU_MATMUL_PACK_INL_H
#else
#define WICK_BACKENDS_CPU_MATMUL_PACK_INL_H
#endif

#include "backends/cpu/load-inl.h"
#include "tensor/dtype.h"

// AVX-512 and AArch64 have 32 vector registers, which decides the size of register tiles.
#undef WICK_MANY_REGISTERS
#if HWY_ARCH_ARM_A64 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)
#define WICK_MANY_REGISTERS 1
#else
#define WICK_MANY_REGISTERS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sources that LoadAs turns into vectors of Acc.
template <typename Acc, typename T>
inline constexpr bool kLoadable = std::is_same_v<Acc, T> || (std::is_same_v<Acc, float> && sizeof(T) == 2);

template <class D>
inline constexpr int64_t kLanesOf = static_cast<int64_t>(hn::MaxLanes(D()));

inline int64_t RoundUp(int64_t size, int64_t multiple) { return (size + multiple - 1) / multiple * multiple; }

// Lines of `length` elements (rows of a, columns of b) to [length / lanes][width][lanes], zeros behind the end.
// Lines from `lines` up to `width` repeat the last one.
template <typename Acc, typename T>
void PackDot(const T* HWY_RESTRICT from, int64_t line_stride, int64_t stride, int64_t lines, int64_t width,
             int64_t length, Acc* HWY_RESTRICT to) {
  const hn::ScalableTag<Acc> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d)), padded = RoundUp(length, lanes);
  const auto place = [&](int64_t i, int64_t line) { return to + (i / lanes * width + line) * lanes + i % lanes; };
  for (int64_t line = 0; line < width; ++line) {
    const T* source = from + (line < lines ? line : lines - 1) * line_stride;
    if constexpr (kLoadable<Acc, T>) {
      if (stride == 1) {
        Acc* HWY_RESTRICT target = place(0, line);
        int64_t i = 0;
        for (; i + lanes <= length; i += lanes, target += width * lanes) hn::StoreU(LoadAs(d, source + i), d, target);
        if (i < length) hn::StoreU(LoadAsN(d, source + i, static_cast<size_t>(length - i)), d, target);
        continue;
      }
    }
    for (int64_t i = 0; i < length; ++i) *place(i, line) = convert<Acc>(source[i * stride]);
    for (int64_t i = length; i < padded; ++i) *place(i, line) = 0;
  }
}

// Four rows of four neighbours, transposed: to[j * step + i] = from[i * stride + j].
template <typename T>
HWY_INLINE void Transpose4x4(const T* HWY_RESTRICT from, int64_t stride, float* HWY_RESTRICT to, int64_t step) {
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 4> d;
  const auto r0 = LoadAs(d, from), r1 = LoadAs(d, from + stride);
  const auto r2 = LoadAs(d, from + 2 * stride), r3 = LoadAs(d, from + 3 * stride);
  const auto low02 = hn::InterleaveLower(d, r0, r2), low13 = hn::InterleaveLower(d, r1, r3);
  const auto high02 = hn::InterleaveUpper(d, r0, r2), high13 = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, low02, low13), d, to);
  hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, to + step);
  hn::StoreU(hn::InterleaveLower(d, high02, high13), d, to + 2 * step);
  hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, to + 3 * step);
#else
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 4; ++j) to[j * step + i] = convert<float>(from[i * stride + j]);
  }
#endif
}

// Rows [rows, length] to [length][width]; what lies from `rows` up to `width` is left alone.
template <typename Acc, typename T>
void PackTransposed(const T* HWY_RESTRICT from, int64_t row_stride, int64_t stride, int64_t rows, int64_t width,
                    int64_t length, Acc* HWY_RESTRICT to) {
  int64_t transposed = 0;  // rows done, in fours; steps of four along the rows, so that whole cache lines are written
  if constexpr (std::is_same_v<Acc, float> && kLoadable<Acc, T>) {
    transposed = stride == 1 ? rows / 4 * 4 : 0;
    int64_t i = 0;
    for (; transposed && i + 4 <= length; i += 4) {
      for (int64_t r = 0; r < transposed; r += 4)
        Transpose4x4(from + r * row_stride + i, row_stride, to + i * width + r, width);
    }
    for (; i < length; ++i) {
      for (int64_t r = 0; r < transposed; ++r) to[i * width + r] = convert<Acc>(from[r * row_stride + i]);
    }
  }
  for (int64_t i = 0; transposed < rows && i < length; ++i) {
    for (int64_t r = transposed; r < rows; ++r) to[i * width + r] = convert<Acc>(from[r * row_stride + i * stride]);
  }
}

// Columns of b [length, columns] (unit stride over columns) to [length][width], zeros past the last column.
template <typename Acc, typename T>
void PackStraight(const T* HWY_RESTRICT from, int64_t row_stride, int64_t columns, int64_t width, int64_t length,
                  Acc* HWY_RESTRICT to) {
  const hn::ScalableTag<Acc> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t i = 0; i < length; ++i, from += row_stride, to += width) {
    if constexpr (kLoadable<Acc, T>) {
      int64_t j = 0;
      for (; j + lanes <= columns; j += lanes) hn::StoreU(LoadAs(d, from + j), d, to + j);
      if (j < columns) hn::StoreU(LoadAsN(d, from + j, static_cast<size_t>(columns - j)), d, to + j);
    } else {
      for (int64_t j = 0; j < width; ++j) to[j] = j < columns ? convert<Acc>(from[j]) : Acc{0};
    }
  }
}

// Rows of finished sums [rows, columns] (with a stride) into the output type.
template <typename Acc, typename T>
void StoreRows(const Acc* HWY_RESTRICT from, int64_t from_stride, int64_t rows, int64_t columns, T* HWY_RESTRICT to,
               int64_t to_stride) {
  const hn::ScalableTag<Acc> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) StoreAs(hn::LoadU(d, from + j), d, to + j);
    if (j < columns) {
      const auto count = static_cast<size_t>(columns - j);
      StoreAsN(LoadAsN(d, from + j, count), d, to + j, count);
    }
  }
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
