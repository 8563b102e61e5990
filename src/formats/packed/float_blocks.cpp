#include "formats/packed/float_blocks.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/layout_copy.h"
#include "quant/f8_channel.h"
#include "quant/float8.h"
#include "quant/mxfp4.h"
#include "quant/nvfp4.h"

namespace wick {
namespace {

constexpr int64_t kScaleGroup = 16;  // weights of NVFP4

// The inputs that a row of codes, two a byte, stands for, in whole groups.
int64_t inputs_of_codes(const Tensor& weight, int64_t group, std::string_view name) {
  check_matrix(name, weight);
  const int64_t in = weight.dim(1) * 2;
  if (weight.dtype() == DType::kU8 && in % group == 0) return in;
  throw Error(ErrorCode::kBadFile, cat("'", name, "' is ", weight.dtype(), " ", weight.shape(),
                                       ", expected u8 with two codes a byte, in groups of ", group));
}

void check_scales(const Tensor& scales, DType dtype, const Shape& shape, std::string_view name) {
  if (scales.dtype() == dtype && scales.shape() == shape) return;
  throw Error(ErrorCode::kBadFile, cat("the scales of '", name, "' are ", scales.dtype(), " ", scales.shape(),
                                       ", expected ", dtype, " ", shape));
}

}  // namespace

Tensor assemble_f8(const Tensor& weight, const ScaleGrid& scales, std::string_view name) {
  check_matrix(name, weight);
  const int64_t out = weight.dim(0), in = weight.dim(1);
  const Tensor rows = compact(weight);
  const auto* from = reinterpret_cast<const uint8_t*>(rows.raw());
  if (!scales.fits(in, block_weights(DType::kF8Channel))) {
    const float* values = f8_e4m3_values();
    return build_floats(out, in, [&](int64_t o, int64_t i) { return values[from[o * in + i]] * scales.at(o, i); });
  }
  return build_blocks<BlockF8Channel>(DType::kF8Channel, out, in, [&](BlockF8Channel& block, int64_t o, int64_t i) {
    block.scale = scales.at(o, i);
    std::memcpy(block.quants, from + o * in + i, sizeof(block.quants));
  });
}

Tensor assemble_nvfp4(const Tensor& weight, const Tensor& scales, const Tensor& tensor_scale, bool divides,
                      std::string_view name) {
  const int64_t in = inputs_of_codes(weight, kScaleGroup, name), out = weight.dim(0);
  check_scales(scales, DType::kF8E4M3, {out, in / kScaleGroup}, name);
  const float whole = read_scales(name, tensor_scale, out, in, 0, {}).values.front();
  if (tensor_scale.numel() != 1 || !(whole > 0)) {
    throw Error(ErrorCode::kBadFile, cat("the scale of all of '", name, "' is ", whole, " ", tensor_scale.shape(),
                                         ", expected one above 0"));
  }
  const auto* from = reinterpret_cast<const uint8_t*>(weight.raw());
  const auto* scale = reinterpret_cast<const uint8_t*>(scales.raw());
  const auto code = [&](int64_t o, int64_t i) { return from[(o * in + i) / 2] >> (i % 2 * 4) & 15; };
  if (in % block_weights(DType::kNVFP4) != 0) {
    const float* values = f8_e4m3_values();
    return build_floats(out, in, [&](int64_t o, int64_t i) {
      const float own = values[scale[(o * in + i) / kScaleGroup]];
      return 0.5f * static_cast<float>(kE2M1Doubled[code(o, i)]) * (divides ? own / whole : own * whole);
    });
  }
  return build_blocks<BlockNVFP4>(DType::kNVFP4, out, in, [&](BlockNVFP4& block, int64_t o, int64_t i) {
    block.scale = divides ? -whole : whole;
    std::memcpy(block.scales, scale + (o * in + i) / kScaleGroup, sizeof(block.scales));
    for (int64_t j = 0; j < 32; ++j) block.nibbles[j] = static_cast<uint8_t>(code(o, i + j) | code(o, i + j + 32) << 4);
  });
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

Tensor assemble_mxfp4_rows(const Tensor& weight, const Tensor& scales, std::string_view name) {
  const int64_t in = inputs_of_codes(weight, block_weights(DType::kMXFP4), name), out = weight.dim(0);
  check_scales(scales, DType::kU8, {out, in / 32}, name);
  Layout blocks = Layout::contiguous({out, in / 32, 16});
  blocks.offset = weight.layout().offset;
  return assemble_mxfp4(weight.with_layout(blocks), scales, name);
}

}  // namespace wick
