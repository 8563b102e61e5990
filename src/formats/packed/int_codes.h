#pragma once

#include <string_view>

#include "formats/loaded_weight.h"
#include "formats/packed/scale_grid.h"

namespace wick {

// Whole numbers with scales and perhaps zeros, weight = scale * (q - zero), brought together without changing a number:
// as kGroup4, kI8Channel or kGroup8, the smallest that holds them exactly, else as f32. `name` is the weight's without
// ".weight", for messages. Throw Error(kBadFile) when shapes contradict each other or what the settings say.

struct IntSettings {
  int bits = 8;
  int64_t group_size = 0;           // 0: as the shape of the scales says
  std::optional<BlockShape> block;  // of scales that are shared by rectangles
};

// What compressed-tensors calls pack-quantized.
struct PackedIntTensors {
  Tensor packed;  // i32 [out, in * bits / 32]: a word holds consecutive inputs plus 2^(bits - 1), lowest bits first
  Tensor shape;   // i64 or i32 [2]: out, in
  Tensor scale;   // [out, groups], [out, 1] or [1]
  Tensor zero;    // i32 [out * bits / 32, groups], packed along the outputs, or i8 [out, groups]; undefined: 0
  Tensor g_idx;   // i32 [in], the group of each input; undefined: as they come
};
// {out, in} as the tensor says; throws Error(kBadFile) when it is no two whole numbers above 0.
Shape packed_ints_shape(const Tensor& shape, std::string_view name);
LoadedWeight assemble_packed_ints(const PackedIntTensors& tensors, const IntSettings& settings, std::string_view name);

// weight i8 [out, in]; zero i8 in the shape of the scale, or undefined.
LoadedWeight assemble_int8(const Tensor& weight, const Tensor& scale, const Tensor& zero, const IntSettings& settings,
                           std::string_view name);

}  // namespace wick
