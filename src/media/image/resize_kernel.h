#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// How many rows the horizontal pass takes at a time.
inline constexpr int kRowsAtOnce = 32;

// out[i] = clamp((1 << precision - 1 + sum over t of weights[t] * rows[t * stride + i]) >> precision), for `count`
// bytes. Weights have at most 24 bits with the sign; `narrow` says that all fit 16.
void weighted_rows(const uint8_t* rows, ptrdiff_t stride, const int32_t* weights, int taps, int precision, bool narrow,
                   size_t count, uint8_t* out);

// rows x columns bytes become columns x rows.
void transpose_bytes(const uint8_t* in, ptrdiff_t in_stride, int rows, int columns, uint8_t* out, ptrdiff_t out_stride);

}  // namespace wick
