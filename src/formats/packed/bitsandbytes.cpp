#include "formats/packed/bitsandbytes.h"

#include <algorithm>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "formats/packed/float_blocks.h"
#include "formats/packed/int_codes.h"
#include "quant/nf4.h"
#include "tensor/create.h"

namespace wick {
namespace {

const float* read_floats(const Tensor& tensor, int64_t count, std::string_view part, std::string_view name) {
  if (!tensor.defined() || tensor.dtype() != DType::kF32 || tensor.numel() != count) {
    throw Error(ErrorCode::kBadFile, cat("'", name, ".", part, "' is not there with ", count, " f32"));
  }
  return tensor.data<float>();
}

int64_t read_block_size(const Json& state, std::string_view key) {
  const auto size = state.at(key).to<int64_t>();
  if (size > 0 && size <= 1 << 20) return size;
  throw Error(ErrorCode::kBadFile, cat(state.at(key).place(), " is ", size));
}

std::vector<float> read_block_scales(const Bnb4Tensors& tensors, const Json& state, int64_t blocks,
                                     std::string_view name) {
  if (!tensors.nested_absmax.defined()) {
    const float* from = read_floats(tensors.absmax, blocks, "absmax", name);
    return {from, from + blocks};
  }
  if (!tensors.absmax.defined() || tensors.absmax.dtype() != DType::kU8 || tensors.absmax.numel() != blocks) {
    throw Error(ErrorCode::kBadFile, cat("'", name, ".absmax' is not there with ", blocks, " u8"));
  }
  const int64_t step = read_block_size(state, "nested_blocksize");
  const auto offset = static_cast<float>(state.at("nested_offset").as_number());
  const float* table = read_floats(tensors.nested_quant_map, 256, "nested_quant_map", name);
  const float* sizes = read_floats(tensors.nested_absmax, ceil_div(blocks, step), "nested_absmax", name);
  const uint8_t* codes = tensors.absmax.data<uint8_t>();
  std::vector<float> scales(static_cast<size_t>(blocks));
  for (int64_t i = 0; i < blocks; ++i) scales[static_cast<size_t>(i)] = table[codes[i]] * sizes[i / step] + offset;
  return scales;
}

bool is_nf4(const float* table) {
  for (int i = 0; i < 16; ++i) {
    if (table[i] != nf4_value(i)) return false;
  }
  return true;
}

}  // namespace

Shape bnb4_shape(const Json& state) {
  const auto sizes = state.at("shape").to<std::vector<int64_t>>();
  constexpr int64_t kMost = int64_t{1} << 31;
  if (sizes.size() == 2 && sizes[0] > 0 && sizes[1] > 0 && sizes[0] <= kMost && sizes[1] <= kMost) {
    return {sizes[0], sizes[1]};
  }
  throw Error(ErrorCode::kBadFile, cat(state.at("shape").place(), " is not the shape of a matrix"));
}

LoadedWeight assemble_bnb4(const Bnb4Tensors& tensors, const Json& state, std::string_view name) {
  const Shape shape = bnb4_shape(state);
  const int64_t out = shape[0], in = shape[1], step = read_block_size(state, "blocksize");
  const int64_t bytes = bytes_of(tensors.weight.dtype(), tensors.weight.numel());
  if (bytes != ceil_div(shape.numel(), 2)) {
    throw Error(ErrorCode::kBadFile,
                cat("'", name, "' has ", bytes, " bytes, which are not the ", shape, " of its state"));
  }
  const float* table = read_floats(tensors.quant_map, 16, "quant_map", name);
  const std::vector<float> scales = read_block_scales(tensors, state, ceil_div(shape.numel(), step), name);
  const auto* from = reinterpret_cast<const uint8_t*>(tensors.weight.raw());
  const auto code = [&](int64_t at) { return from[at / 2] >> (at % 2 ? 0 : 4) & 15; };
  const auto scale = [&](int64_t at) { return scales[static_cast<size_t>(at / step)]; };
  const int64_t block = block_weights(DType::kNF4);
  if (in % block != 0 || step % block != 0 || !is_nf4(table)) {
    return {build_floats(out, in, [&](int64_t o, int64_t i) { return table[code(o * in + i)] * scale(o * in + i); }),
            {}};
  }
  return {build_blocks<BlockNF4>(DType::kNF4, out, in,
                                 [&](BlockNF4& to, int64_t o, int64_t i) {
                                   const int64_t at = o * in + i;
                                   to.scale = scale(at);
                                   for (int j = 0; j < 32; ++j) {
                                     to.nibbles[j] = static_cast<uint8_t>(code(at + j) | code(at + j + 32) << 4);
                                   }
                                 }),
          {}};
}

LoadedWeight assemble_bnb8(const Tensor& weight, const Tensor& row_max, std::string_view name) {
  check_matrix(cat(name, ".weight"), weight);
  const float* sizes = read_floats(row_max, weight.dim(0), "SCB", name);
  std::vector<float> scales;
  for (int64_t row = 0; row < weight.dim(0); ++row) {
    scales.push_back(static_cast<float>(static_cast<double>(sizes[row]) / 127));
  }
  return assemble_int8(weight, from_vector(scales, {weight.dim(0)}), {}, {}, name);
}

}  // namespace wick
