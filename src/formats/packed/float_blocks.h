#pragma once

#include <cstring>
#include <string_view>

#include "base/thread_pool.h"
#include "formats/empty_pages.h"
#include "formats/packed/scale_grid.h"

namespace wick {

// A weight [out, in] of blocks that fill(block, output, first input) makes one by one.
template <typename Block, typename Fill>
Tensor build_blocks(DType dtype, int64_t out, int64_t in, const Fill& fill) {
  Tensor packed = empty_pages({out, in}, dtype);
  const int64_t step = block_weights(dtype), blocks = in / step;
  parallel_for(out, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t b = 0; b < blocks; ++b) {
        Block block;
        fill(block, row, b * step);
        std::memcpy(packed.raw() + (row * blocks + b) * static_cast<int64_t>(sizeof(block)), &block, sizeof(block));
      }
    }
  });
  return packed;
}

// The same as f32, where rows or groups do not fill whole blocks: value(output, input).
template <typename Value>
Tensor build_floats(int64_t out, int64_t in, const Value& value) {
  Tensor floats = empty_pages({out, in}, DType::kF32);
  auto* to = reinterpret_cast<float*>(floats.raw());
  parallel_for(out, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < in; ++i) to[row * in + i] = value(row, i);
    }
  });
  return floats;
}

// Floats of few bits with scales, brought together without changing a number: into blocks of a packed dtype where rows
// and groups fill them, else as f32. `name` is the weight's, for messages. Throw Error(kBadFile) when shapes contradict
// each other.

// weight f8_e4m3 [out, in] -> kF8Channel.
Tensor assemble_f8(const Tensor& weight, const ScaleGrid& scales, std::string_view name);

// weight u8 [out, in / 2], two codes a byte, the earlier in the low nibble.
// Scales f8_e4m3 [out, in / 16]; each times or, with `divides`, divided by the one of the tensor -> kNVFP4.
Tensor assemble_nvfp4(const Tensor& weight, const Tensor& scales, const Tensor& tensor_scale, bool divides,
                      std::string_view name);
// Blocks u8 [..., rows, in / 32, 16] with exponents u8 [..., rows, in / 32] -> kMXFP4 [..., rows, in].
Tensor assemble_mxfp4(const Tensor& blocks, const Tensor& scales, std::string_view name);
// The same of a matrix u8 [out, in / 2].
Tensor assemble_mxfp4_rows(const Tensor& weight, const Tensor& scales, std::string_view name);

}  // namespace wick
