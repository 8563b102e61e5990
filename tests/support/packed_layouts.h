#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "tensor/create.h"
#include "tensor/half.h"

namespace wick {

// A weight [out, in] packed the way a library publishes it, in plain scalar code, and what it stands for: computed in
// double and rounded to f32 where PyTorch rounds.
struct PackedLayout {
  std::vector<std::pair<std::string, Tensor>> parts;  // by what follows the module's name, e.g. ".weight_scale"
  std::vector<float> values;                          // [out, in]
};

using LayoutRandom = std::mt19937;

inline float random_scale(LayoutRandom& random) { return static_cast<float>(1 + random() % 8191) / (1 << 20); }

// That f16 holds exactly.
inline float random_half(LayoutRandom& random) { return static_cast<float>(1 + random() % 1023) / 65536; }

inline Tensor bytes_tensor(const std::vector<uint8_t>& bytes, const Shape& shape, DType dtype) {
  Tensor tensor = empty(shape, dtype);
  std::memcpy(tensor.raw(), bytes.data(), bytes.size());
  return tensor;
}

// E4M3 from its definition.
inline double e4m3(uint8_t bits) {
  const int exponent = bits >> 3 & 15, mantissa = bits & 7;
  const double magnitude = exponent ? (1 + mantissa / 8.0) * std::pow(2.0, exponent - 7) : mantissa * std::pow(2.0, -9);
  return bits & 0x80 ? -magnitude : magnitude;
}
inline uint8_t random_e4m3(LayoutRandom& random) {
  const auto bits = static_cast<uint8_t>(random());
  return (bits & 0x7f) == 0x7f ? 0 : bits;  // no NaN
}
inline double e2m1(int code) {
  constexpr double kValues[8] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return code & 8 ? -kValues[code & 7] : kValues[code & 7];
}

// One scale for every rows x columns; `suffix` and the shape of the scales as given.
inline PackedLayout pack_f8(int64_t out, int64_t in, int64_t rows, int64_t columns, const std::string& suffix,
                            const Shape& scale_shape, LayoutRandom& random) {
  const int64_t per_row = (in + columns - 1) / columns;
  std::vector<float> scales(static_cast<size_t>((out + rows - 1) / rows * per_row));
  for (float& scale : scales) scale = random_scale(random);
  PackedLayout layout;
  std::vector<uint8_t> codes;
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      codes.push_back(random_e4m3(random));
      const float scale = scales[static_cast<size_t>(o / rows * per_row + i / columns)];
      layout.values.push_back(static_cast<float>(e4m3(codes.back()) * scale));
    }
  }
  layout.parts = {{".weight", bytes_tensor(codes, {out, in}, DType::kF8E4M3)},
                  {suffix, from_vector(scales, scale_shape)}};
  return layout;
}

struct IntLayout {
  int bits = 4;
  int64_t group = 32;  // in for one per row
  bool zeros = false;
  bool packed_zeros = true;
  bool halves = true;  // scales are f16
  bool sorted = true;  // inputs lie by group
};

// compressed-tensors, pack-quantized.
inline PackedLayout pack_ints(int64_t out, int64_t in, const IntLayout& kind, LayoutRandom& random) {
  const int64_t groups = (in + kind.group - 1) / kind.group, per_word = 32 / kind.bits;
  const int half = 1 << (kind.bits - 1);
  std::vector<int32_t> group_of;
  for (int64_t i = 0; i < in; ++i) group_of.push_back(static_cast<int32_t>(i / kind.group));
  if (!kind.sorted) std::shuffle(group_of.begin(), group_of.end(), random);
  std::vector<float> scales;
  std::vector<int> zeros;
  for (int64_t i = 0; i < out * groups; ++i) {
    scales.push_back(kind.halves ? random_half(random) : 1e-7f * static_cast<float>(1 + random() % 1000));
    zeros.push_back(kind.zeros ? static_cast<int>(random() % static_cast<unsigned>(2 * half)) - half : 0);
  }
  const int64_t row_words = (in + per_word - 1) / per_word, zero_rows = (out + per_word - 1) / per_word;
  std::vector<uint32_t> words(static_cast<size_t>(out * row_words)),
      zero_words(static_cast<size_t>(zero_rows * groups));
  PackedLayout layout;
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) {
      const int code = static_cast<int>(random() % static_cast<unsigned>(2 * half)) - half;
      words[static_cast<size_t>(o * row_words + i / per_word)] |= static_cast<uint32_t>(code + half)
                                                                  << (i % per_word * kind.bits);
      const auto at = static_cast<size_t>(o * groups + group_of[static_cast<size_t>(i)]);
      layout.values.push_back(static_cast<float>(static_cast<double>(code - zeros[at]) * scales[at]));
    }
    for (int64_t g = 0; g < groups; ++g) {
      zero_words[static_cast<size_t>(o / per_word * groups + g)] |=
          static_cast<uint32_t>(zeros[static_cast<size_t>(o * groups + g)] + half) << (o % per_word * kind.bits);
    }
  }
  const auto as_i32 = [](const std::vector<uint32_t>& from, const Shape& shape) {
    return from_vector(std::vector<int32_t>(from.begin(), from.end()), shape);
  };
  layout.parts = {{".weight_packed", as_i32(words, {out, row_words})},
                  {".weight_scale", from_vector(scales, {out, groups})},
                  {".weight_shape", from_vector(std::vector<int64_t>{out, in}, {2})}};
  if (kind.zeros && kind.packed_zeros) {
    layout.parts.emplace_back(".weight_zero_point", as_i32(zero_words, {zero_rows, groups}));
  } else if (kind.zeros) {
    const std::vector<int8_t> bytes(zeros.begin(), zeros.end());
    layout.parts.emplace_back(".weight_zero_point", from_vector(bytes, {out, groups}));
  }
  if (!kind.sorted) layout.parts.emplace_back(".weight_g_idx", from_vector(group_of, {in}));
  return layout;
}

// compressed-tensors, int-quantized: one scale a row.
inline PackedLayout pack_int8(int64_t out, int64_t in, bool with_zeros, LayoutRandom& random) {
  std::vector<float> scales;
  std::vector<int8_t> codes, zeros;
  PackedLayout layout;
  for (int64_t o = 0; o < out; ++o) {
    scales.push_back(random_half(random));
    zeros.push_back(static_cast<int8_t>(with_zeros ? static_cast<int>(random() % 256) - 128 : 0));
    for (int64_t i = 0; i < in; ++i) {
      codes.push_back(static_cast<int8_t>(random()));
      layout.values.push_back(static_cast<float>(static_cast<double>(codes.back() - zeros.back()) * scales.back()));
    }
  }
  layout.parts = {{".weight", from_vector(codes, {out, in})}, {".weight_scale", from_vector(scales, {out, 1})}};
  if (with_zeros) layout.parts.emplace_back(".weight_zero_point", from_vector(zeros, {out, 1}));
  return layout;
}

// NVFP4 of compressed-tensors, which divides by the scale of the tensor, or of modelopt, which multiplies.
inline PackedLayout pack_nvfp4(int64_t out, int64_t in, bool divides, LayoutRandom& random) {
  const float whole = divides ? 700.3f : 0.00137f;
  std::vector<uint8_t> codes, scales;
  PackedLayout layout;
  for (int64_t at = 0; at < out * in; ++at) {
    if (at % 16 == 0) scales.push_back(random_e4m3(random) & 0x7f);
    const auto own = static_cast<float>(e4m3(scales.back()));
    const float scale = divides ? own / whole : own * whole;
    const auto code = static_cast<int>(random() & 15);
    if (at % 2 == 0) codes.push_back(static_cast<uint8_t>(code));
    if (at % 2 == 1) codes.back() = static_cast<uint8_t>(codes.back() | code << 4);
    layout.values.push_back(static_cast<float>(e2m1(code) * scale));
  }
  layout.parts = {{divides ? ".weight_packed" : ".weight", bytes_tensor(codes, {out, in / 2}, DType::kU8)},
                  {".weight_scale", bytes_tensor(scales, {out, in / 16}, DType::kF8E4M3)},
                  {divides ? ".weight_global_scale" : ".weight_scale_2", from_vector(std::vector{whole}, {1})}};
  return layout;
}

inline PackedLayout pack_mxfp4(int64_t out, int64_t in, LayoutRandom& random) {
  std::vector<uint8_t> codes, scales;
  PackedLayout layout;
  for (int64_t at = 0; at < out * in; ++at) {
    if (at % 32 == 0) scales.push_back(static_cast<uint8_t>(115 + random() % 10));
    const auto code = static_cast<int>(random() & 15);
    if (at % 2 == 0) codes.push_back(static_cast<uint8_t>(code));
    if (at % 2 == 1) codes.back() = static_cast<uint8_t>(codes.back() | code << 4);
    layout.values.push_back(static_cast<float>(e2m1(code) * std::pow(2.0, scales.back() - 127)));
  }
  layout.parts = {{".weight_packed", bytes_tensor(codes, {out, in / 2}, DType::kU8)},
                  {".weight_scale", bytes_tensor(scales, {out, in / 32}, DType::kU8)}};
  return layout;
}

inline const std::vector<float>& nf4_table() {
  static const std::vector<float> table = {-1.0f,
                                           -0.6961928009986877f,
                                           -0.5250730514526367f,
                                           -0.39491748809814453f,
                                           -0.28444138169288635f,
                                           -0.18477343022823334f,
                                           -0.09105003625154495f,
                                           0.0f,
                                           0.07958029955625534f,
                                           0.16093020141124725f,
                                           0.24611230194568634f,
                                           0.33791524171829224f,
                                           0.44070982933044434f,
                                           0.5626170039176941f,
                                           0.7229568362236023f,
                                           1.0f};
  return table;
}
inline const std::vector<float>& fp4_table() {
  static const std::vector<float> table = {0, 0.0052083333f,  2.f / 3,  1,  1.f / 3,  0.5f,  1.f / 6,  0.25f,
                                           0, -0.0052083333f, -2.f / 3, -1, -1.f / 3, -0.5f, -1.f / 6, -0.25f};
  return table;
}

// bitsandbytes in 4 bits.
inline PackedLayout pack_bnb4(int64_t out, int64_t in, int64_t block, bool nested, bool nf4, LayoutRandom& random) {
  const int64_t count = out * in, blocks = (count + block - 1) / block, nested_block = 4;
  const std::vector<float>& table = nf4 ? nf4_table() : fp4_table();
  std::vector<float> scales, nested_table, nested_scales;
  std::vector<uint8_t> scale_codes;
  const float offset = 0.0625f;
  for (int i = 0; i < 256; ++i) nested_table.push_back(static_cast<float>(i - 127) / 129);
  for (int64_t b = 0; b < blocks; ++b) {
    if (b % nested_block == 0) nested_scales.push_back(random_scale(random));
    scale_codes.push_back(static_cast<uint8_t>(random()));
    const float product =
        static_cast<float>(static_cast<double>(nested_table[scale_codes.back()]) * nested_scales.back());
    scales.push_back(nested ? product + offset : random_scale(random));
  }
  PackedLayout layout;
  std::vector<uint8_t> codes(static_cast<size_t>((count + 1) / 2));
  for (int64_t at = 0; at < count; ++at) {
    const auto code = static_cast<int>(random() & 15);
    codes[static_cast<size_t>(at / 2)] |= static_cast<uint8_t>(at % 2 ? code : code << 4);
    layout.values.push_back(static_cast<float>(static_cast<double>(table[static_cast<size_t>(code)]) *
                                               scales[static_cast<size_t>(at / block)]));
  }
  const std::string kind = nf4 ? "nf4" : "fp4";
  std::string state = cat(R"({"quant_type": ")", kind, R"(", "blocksize": )", block,
                          R"(, "dtype": "bfloat16", "shape": [)", out, ", ", in, "]");
  if (nested) {
    state += cat(R"(, "nested_blocksize": )", nested_block, R"(, "nested_dtype": "float32", "nested_offset": 0.0625)");
  }
  state += "}";
  layout.parts = {{".weight", bytes_tensor(codes, {static_cast<int64_t>(codes.size()), 1}, DType::kU8)},
                  {".weight.quant_map", from_vector(table, {16})},
                  {".weight.quant_state.bitsandbytes__" + kind,
                   bytes_tensor({state.begin(), state.end()}, {static_cast<int64_t>(state.size())}, DType::kU8)}};
  if (nested) {
    layout.parts.emplace_back(".weight.absmax", bytes_tensor(scale_codes, {blocks}, DType::kU8));
    layout.parts.emplace_back(".weight.nested_quant_map", from_vector(nested_table, {256}));
    layout.parts.emplace_back(".weight.nested_absmax",
                              from_vector(nested_scales, {static_cast<int64_t>(nested_scales.size())}));
  } else {
    layout.parts.emplace_back(".weight.absmax", from_vector(scales, {blocks}));
  }
  return layout;
}

inline PackedLayout pack_bnb8(int64_t out, int64_t in, LayoutRandom& random) {
  std::vector<float> largest;
  std::vector<int8_t> codes;
  PackedLayout layout;
  for (int64_t o = 0; o < out; ++o) {
    largest.push_back(random_scale(random));
    const auto scale = static_cast<float>(static_cast<double>(largest.back()) / 127);
    for (int64_t i = 0; i < in; ++i) {
      codes.push_back(static_cast<int8_t>(static_cast<int>(random() % 255) - 127));
      layout.values.push_back(static_cast<float>(static_cast<double>(codes.back()) * scale));
    }
  }
  layout.parts = {{".weight", from_vector(codes, {out, in})},
                  {".SCB", from_vector(largest, {out})},
                  {".weight_format", bytes_tensor({0}, {}, DType::kU8)}};
  return layout;
}

}  // namespace wick
