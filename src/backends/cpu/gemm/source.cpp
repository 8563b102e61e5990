#include "backends/cpu/gemm/source.h"

#include <cstring>

namespace wick::cpu {

const void* Source::fetch(int64_t begin, int64_t count, void* buffer, int64_t base) const {
  auto* to = static_cast<std::byte*>(buffer);
  if (nest_.rank <= 1 || begin % row_ + count <= row_) {
    const int64_t outer = nest_.rank <= 1 ? 0 : begin / row_;
    const int64_t offset = base + nest_.offsets(outer)[0] + (begin - outer * row_) * stride_;
    const std::byte* from = data_ + offset * size_;
    if (in_place_ && (stride_ == 1 || count == 1)) return from;
    convert_(from, stride_, to, 1, count);
  } else {
    fill_rows(begin, count, base, to);
  }
  return buffer;
}

void Source::fill_rows(int64_t begin, int64_t count, int64_t base, std::byte* to) const {
  const int last = nest_.rank - 2;  // the loop around the rows
  std::array<int64_t, kMaxRank> index{};
  int64_t outer = begin / row_, offset = base, column = begin % row_;
  for (int d = last; d >= 0; --d) {
    index[d] = outer % nest_.sizes[d];
    outer /= nest_.sizes[d];
    offset += index[d] * nest_.strides[0][d];
  }
  while (count > 0) {
    const int64_t n = std::min(count, row_ - column);
    convert_(data_ + (offset + column * stride_) * size_, stride_, to, 1, n);
    const std::byte* done = to;
    to += n * compute_size_;
    count -= n;
    column = 0;
    if (nest_.strides[0][last] == 0 && n == row_) {  // the same row again: copy what was just made, doubling
      int64_t repeats = std::min(count / row_, nest_.sizes[last] - 1 - index[last]);
      index[last] += repeats;
      count -= repeats * row_;
      for (int64_t made = 1; repeats > 0;) {
        const int64_t more = std::min(made, repeats);
        std::memcpy(to, done, more * row_ * compute_size_);
        to += more * row_ * compute_size_;
        repeats -= more;
        made += more;
      }
    }
    int d = last;
    for (; d >= 0; --d) {
      offset += nest_.strides[0][d];
      if (++index[d] < nest_.sizes[d]) break;
      offset -= nest_.strides[0][d] * nest_.sizes[d];
      index[d] = 0;
    }
  }
}

}  // namespace wick::cpu
