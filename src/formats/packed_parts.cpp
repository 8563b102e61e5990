#include "formats/packed_parts.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "base/thread_pool.h"
#include "formats/empty_pages.h"
#include "formats/layout_copy.h"
#include "quant/i8_channel.h"
#include "quant/mxfp4.h"

namespace wick {
namespace {

constexpr int64_t kI8Block = 64;

float scale_at(const Tensor& scale, int64_t row) {
  float value = 0;
  visit_dtype(scale.dtype(), [&](auto kind) {
    using T = decltype(kind);
    value = convert<float>(scale.data<T>()[scale.numel() == 1 ? 0 : row]);
  });
  return value;
}

}  // namespace

Tensor assemble_i8_channel(const Tensor& weight, const Tensor& scale, std::string_view name) {
  if (weight.rank() != 2 || weight.dim(1) == 0 || weight.dim(1) % kI8Block != 0) {
    throw Error(ErrorCode::kUnsupported,
                cat(name, " is ", weight.shape(), ", expected a matrix whose inputs are a multiple of ", kI8Block));
  }
  const int64_t out = weight.dim(0), in = weight.dim(1);
  const bool per_row = scale.numel() == out && (scale.rank() == 1 || (scale.rank() == 2 && scale.dim(1) == 1));
  if (!is_float(scale.dtype()) || (!per_row && scale.numel() != 1)) {
    throw Error(ErrorCode::kBadFile, cat(name, "_scale is ", scale.dtype(), " ", scale.shape(),
                                         ", expected one float for each of ", out, " rows"));
  }
  const int8_t* from = weight.data<int8_t>();
  Tensor packed = empty_pages(weight.shape(), DType::kI8Channel);
  parallel_for(out, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      BlockI8Channel block;
      block.scale = scale_at(scale, row);
      for (int64_t b = 0; b < in / kI8Block; ++b) {
        std::memcpy(block.quants, from + row * in + b * kI8Block, kI8Block);
        std::memcpy(packed.raw() + (row * (in / kI8Block) + b) * static_cast<int64_t>(sizeof(block)), &block,
                    sizeof(block));
      }
    }
  });
  return packed;
}

Tensor assemble_mxfp4(const Tensor& blocks, const Tensor& scales, std::string_view name) {
  const int rank = blocks.rank();
  if (rank < 3 || blocks.dtype() != DType::kU8 || scales.dtype() != DType::kU8 || blocks.dim(-1) != 16 ||
      blocks.shape().without(rank - 1) != scales.shape()) {
    throw Error(ErrorCode::kBadFile,
                cat(name, "_blocks is ", blocks.dtype(), " ", blocks.shape(), " and ", name, "_scales ", scales.dtype(),
                    " ", scales.shape(), ", expected u8 [..., n, 16] and [..., n]"));
  }
  const Shape rows = scales.shape();
  Tensor packed = empty_pages(rows.with(rows.rank() - 1, rows.back() * 32), DType::kMXFP4);
  const Tensor codes = compact(blocks), exponents = compact(scales);
  const auto* from = codes.data<uint8_t>();
  const auto* exponent = exponents.data<uint8_t>();
  parallel_for(scales.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      BlockMXFP4 block;
      block.exponent = exponent[b];
      const auto code = [&](int i) { return from[b * 16 + i / 2] >> (i % 2 * 4) & 15; };
      for (int i = 0; i < 16; ++i) block.nibbles[i] = static_cast<uint8_t>(code(i) | code(i + 16) << 4);
      std::memcpy(packed.raw() + b * static_cast<int64_t>(sizeof(block)), &block, sizeof(block));
    }
  });
  return packed;
}

}  // namespace wick
