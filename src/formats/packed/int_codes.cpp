#include "formats/packed/int_codes.h"

#include <algorithm>

#include "base/checked.h"
#include "formats/convert_weight.h"
#include "formats/group_weights.h"
#include "formats/packed/float_blocks.h"
#include "quant/i8_channel.h"

namespace wick {
namespace {

constexpr int kMostBits = 8;

// Codes are counted from 0, zeros too: code(output, input), zero(group, output).
template <typename Code, typename Zero>
struct IntWeight {
  std::string_view name;
  int64_t out, in;
  int bits;
  bool symmetric;  // every zero is 2^(bits - 1)
  const ScaleGrid& scales;
  std::vector<int64_t> group_of;  // [in]; empty: input / scales.columns
  Code code;
  Zero zero;

  int64_t group(int64_t input) const { return group_of.empty() ? input / scales.columns : group_of[input]; }
  float scale(int64_t output, int64_t group) const {
    return scales.values[output / scales.rows * scales.per_row + group];
  }
  int centred(int64_t output, int64_t input) const {
    return static_cast<int>(code(output, input)) - static_cast<int>(zero(group(input), output));
  }
};

bool are_halves(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return f16_bits_to_f32(f32_to_f16_bits(value)) == value; });
}

// Whether the inputs of each group come in whole blocks of kGroup4 and kGroup8.
bool fill_blocks(const std::vector<int64_t>& group_of, int64_t groups) {
  std::vector<int64_t> sizes(static_cast<size_t>(groups));
  for (const int64_t group : group_of) ++sizes[static_cast<size_t>(group)];
  return std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size % kGroupBlock == 0; });
}

template <typename Weight>
Tensor build_channels(const Weight& weight) {
  return build_blocks<BlockI8Channel>(DType::kI8Channel, weight.out, weight.in,
                                      [&](BlockI8Channel& block, int64_t o, int64_t i) {
                                        block.scale = weight.scales.at(o, i);
                                        for (int j = 0; j < 64; ++j)
                                          block.quants[j] = static_cast<int8_t>(weight.centred(o, i + j));
                                      });
}

template <typename Weight>
LoadedWeight build_ints(const Weight& weight, const Tensor& g_idx) {
  const ScaleGrid& scales = weight.scales;
  const bool in_order = weight.group_of.empty();
  const bool channels = in_order && scales.fits(weight.in, block_weights(DType::kI8Channel));
  if (weight.symmetric && weight.bits == kMostBits && channels) {
    return {build_channels(weight), {}};
  }
  const bool whole = in_order ? scales.fits(weight.in, kGroupBlock)
                              : weight.in % kGroupBlock == 0 && fill_blocks(weight.group_of, scales.per_row);
  if (whole && are_halves(scales.values)) {
    const InputGroups inputs = group_inputs(weight.name, g_idx, weight.in, scales.per_row, scales.columns);
    std::vector<uint16_t> bits;
    bits.reserve(static_cast<size_t>(scales.per_row * weight.out));
    for (int64_t group = 0; group < scales.per_row; ++group) {
      for (int64_t o = 0; o < weight.out; ++o) bits.push_back(f32_to_f16_bits(weight.scale(o, group)));
    }
    const auto code = [&](int64_t i, int64_t o) { return static_cast<uint8_t>(weight.code(o, i)); };
    if (weight.bits == 4) {
      return build_groups<BlockGroup4>(DType::kGroup4, weight.in, weight.out, inputs, bits, code, weight.zero);
    }
    return build_groups<BlockGroup8>(DType::kGroup8, weight.in, weight.out, inputs, bits, code, weight.zero);
  }
  if (weight.bits == 4 && channels) {
    return {build_channels(weight), {}};
  }
  return {build_floats(weight.out, weight.in,
                       [&](int64_t o, int64_t i) {
                         return static_cast<float>(weight.centred(o, i)) * weight.scale(o, weight.group(i));
                       }),
          {}};
}

// i8 [groups of rows, groups] as whole numbers from 0 on, [group, output].
std::vector<uint32_t> signed_zeros(const Tensor& zero, const ScaleGrid& scales, int64_t out, int bits,
                                   std::string_view name) {
  const int64_t count = ceil_div(out, scales.rows) * scales.per_row;
  if (zero.dtype() != DType::kI8 || zero.numel() != count) {
    throw Error(ErrorCode::kBadFile,
                cat(name, ".weight_zero_point is ", zero.dtype(), " ", zero.shape(), ", expected ", count, " i8"));
  }
  const int half = 1 << (bits - 1);
  const int8_t* from = zero.data<int8_t>();
  std::vector<uint32_t> zeros(static_cast<size_t>(scales.per_row * out));
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t group = 0; group < scales.per_row; ++group) {
      const int value = from[o / scales.rows * scales.per_row + group];
      if (value < -half || value >= half) {
        throw Error(ErrorCode::kBadFile,
                    cat(name, ".weight_zero_point has ", value, ", which ", bits, " bits cannot hold"));
      }
      zeros[static_cast<size_t>(group * out + o)] = static_cast<uint32_t>(value + half);
    }
  }
  return zeros;
}

std::vector<uint32_t> packed_zeros(const Tensor& zero, const ScaleGrid& scales, int64_t out, int bits,
                                   std::string_view name) {
  const int64_t per_word = 32 / bits, groups = scales.per_row;
  check_part(name, "weight_zero_point", zero, DType::kI32, {ceil_div(out, per_word), groups});
  const auto* words = reinterpret_cast<const uint32_t*>(zero.raw());
  std::vector<uint32_t> zeros(static_cast<size_t>(groups * out));
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t group = 0; group < groups; ++group) {
      zeros[static_cast<size_t>(group * out + o)] =
          words[o / per_word * groups + group] >> (o % per_word * bits) & ((1u << bits) - 1);
    }
  }
  return zeros;
}

// compressed-tensors fills it with -1 before it is known, and may leave it so.
bool is_unset(const Tensor& g_idx) {
  if (!g_idx.defined() || g_idx.dtype() != DType::kI32) return !g_idx.defined();
  const int32_t* groups = g_idx.data<int32_t>();
  return std::all_of(groups, groups + g_idx.numel(), [](int32_t group) { return group == -1; });
}

std::vector<int64_t> read_group_of(const Tensor& g_idx, int64_t in, int64_t groups, std::string_view name) {
  if (!g_idx.defined()) return {};
  check_part(name, "weight_g_idx", g_idx, DType::kI32, {in});
  const int32_t* given = g_idx.data<int32_t>();
  std::vector<int64_t> group_of(given, given + in);
  for (const int64_t group : group_of) {
    if (group >= 0 && group < groups) continue;
    throw Error(ErrorCode::kBadFile, cat(name, ".weight_g_idx names group ", group, ", but there are ", groups));
  }
  return group_of;
}

}  // namespace

Shape packed_ints_shape(const Tensor& shape, std::string_view name) {
  constexpr int64_t kMost = int64_t{1} << 31;
  int64_t sizes[2] = {0, 0};
  if (shape.defined() && shape.numel() == 2) {
    for (int i = 0; i < 2; ++i) {
      if (shape.dtype() == DType::kI64) sizes[i] = shape.data<int64_t>()[i];
      if (shape.dtype() == DType::kI32) sizes[i] = shape.data<int32_t>()[i];
    }
  }
  if (sizes[0] > 0 && sizes[1] > 0 && sizes[0] <= kMost && sizes[1] <= kMost) return {sizes[0], sizes[1]};
  throw Error(ErrorCode::kBadFile, cat(name, ".weight_shape is not there with two whole numbers above 0"));
}

LoadedWeight assemble_packed_ints(const PackedIntTensors& tensors, const IntSettings& settings, std::string_view name) {
  const Shape sizes = packed_ints_shape(tensors.shape, name);
  const int64_t out = sizes[0], in = sizes[1];
  const Tensor& packed = tensors.packed;
  int bits = settings.bits;
  const auto holds = [&](int by) { return packed.dim(1) == ceil_div(in, 32 / by); };
  const bool matrix = packed.dtype() == DType::kI32 && packed.rank() == 2 && packed.numel() > 0 && packed.dim(0) == out;
  if (matrix && !holds(bits)) bits = kMostBits + 4 - bits;  // groups of modules may differ in it
  if (!matrix || !holds(bits)) {
    throw Error(ErrorCode::kBadFile, cat(name, ".weight_packed is ", packed.dtype(), " ", packed.shape(),
                                         ", which does not hold [", out, ", ", in, "] in ", settings.bits, " bits"));
  }
  if (!tensors.scale.defined()) throw Error(ErrorCode::kBadFile, cat(name, ".weight_scale is missing"));
  const ScaleGrid scales =
      read_scales(cat(name, ".weight_scale"), tensors.scale, out, in, settings.group_size, settings.block);
  const std::vector<uint32_t> zeros = !tensors.zero.defined() ? std::vector<uint32_t>()
                                      : tensors.zero.dtype() == DType::kI32
                                          ? packed_zeros(tensors.zero, scales, out, bits, name)
                                          : signed_zeros(tensors.zero, scales, out, bits, name);
  const Tensor g_idx = is_unset(tensors.g_idx) ? Tensor() : tensors.g_idx;
  const auto* words = reinterpret_cast<const uint32_t*>(packed.raw());
  const int64_t per_word = 32 / bits, row_words = packed.dim(1);
  const uint32_t mask = (1u << bits) - 1, half = 1u << (bits - 1);
  const auto code = [=](int64_t o, int64_t i) {
    return words[o * row_words + i / per_word] >> (i % per_word * bits) & mask;
  };
  const auto zero = [&zeros, out, half](int64_t group, int64_t o) {
    return zeros.empty() ? half : zeros[static_cast<size_t>(group * out + o)];
  };
  const IntWeight<decltype(code), decltype(zero)> weight{
      name, out, in, bits, zeros.empty(), scales, read_group_of(g_idx, in, scales.per_row, name), code, zero};
  return build_ints(weight, g_idx);
}

LoadedWeight assemble_int8(const Tensor& weight, const Tensor& scale, const Tensor& zero, const IntSettings& settings,
                           std::string_view name) {
  check_matrix(cat(name, ".weight"), weight);
  const int64_t out = weight.dim(0), in = weight.dim(1);
  const ScaleGrid scales = read_scales(cat(name, ".weight_scale"), scale, out, in, settings.group_size, settings.block);
  const std::vector<uint32_t> zeros =
      zero.defined() ? signed_zeros(zero, scales, out, kMostBits, name) : std::vector<uint32_t>();
  const int8_t* from = weight.data<int8_t>();
  const auto code = [=](int64_t o, int64_t i) { return static_cast<uint32_t>(from[o * in + i] + 128); };
  const auto zero_at = [&zeros, out](int64_t group, int64_t o) {
    return zeros.empty() ? 128u : zeros[static_cast<size_t>(group * out + o)];
  };
  const IntWeight<decltype(code), decltype(zero_at)> ints{name,   out, in,   kMostBits, zeros.empty(),
                                                          scales, {},  code, zero_at};
  return build_ints(ints, {});
}

}  // namespace wick
