#pragma once

#include <cstdint>

namespace wick::cpu {

inline constexpr int64_t kTransposeBlock = 16;

// out[i * out_stride + j] = in[j * in_stride + i] for 16 x 16 elements of four bytes. With `streams`, the lines of out
// are aligned to 64 bytes and written past the caches. `next` is a block of the same stride to fetch (or `in`).
void transpose_block(const uint32_t* in, int64_t in_stride, uint32_t* out, int64_t out_stride, bool streams,
                     const uint32_t* next);

// Running sums of 16 rows of f32, `stride` apart, kept in f64: continues from `totals`, for 16 columns.
void cumsum_block(const float* in, int64_t stride, float* out, int64_t out_stride, bool streams, double* totals);

}  // namespace wick::cpu
