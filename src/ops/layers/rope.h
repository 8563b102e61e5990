#pragma once

#include "tensor/tensor.h"

namespace wick {

// Rotary position embedding: turns pairs of components of x [..., tokens, dim] by the angle of their token.
// cos and sin are f32 [tokens, rotary / 2]; components past `rotary` pass through unchanged. Pairs are (i, i +
// rotary/2) for the half-rotation form and (2i, 2i + 1) for the interleaved one.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, bool interleaved = false);

}  // namespace wick
