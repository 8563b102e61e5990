#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace wick {

// Weights whose codes and scales lie in two tensors of a checkpoint, brought together into one packed dtype without
// changing a number. `name` stands in messages. Throw Error(kBadFile) when the shapes contradict each other.

// weight i8 [out, in] with scale [out, 1], [out] or [1] as kI8Channel [out, in]; in must be a multiple of 64.
Tensor assemble_i8_channel(const Tensor& weight, const Tensor& scale, std::string_view name);

// blocks u8 [..., rows, in / 32, 16] (two codes a byte, the earlier in the low nibble) with scales u8 [..., rows,
// in / 32] as kMXFP4 [..., rows, in].
Tensor assemble_mxfp4(const Tensor& blocks, const Tensor& scales, std::string_view name);

}  // namespace wick
