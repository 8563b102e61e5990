#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace wick {

enum class Activation : uint8_t { kSilu, kGelu, kGeluTanh, kRelu, kReluSquared, kClampedSwiglu, kXielu, kQuickGelu };

// By the name that config.json gives it ("silu", "gelu_pytorch_tanh", ...). Throws Error(kUnsupported) with the names
// known.
Activation activation_named(std::string_view name);
std::string_view to_string(Activation activation);

Tensor activate(Activation activation, const Tensor& x);

// Activation::kXielu, which has numbers of its own in each layer: above x^2 + beta x for x > 0, else
// below (e^min(x, least) - 1 - x) + beta x.
struct Xielu {
  double above = 0, below = 0, beta = 0, least = 0;

  Tensor operator()(const Tensor& x) const;
};
// activate(gate) * up. kClampedSwiglu, which has only this form, is gate * sigmoid(1.702 gate) * (up + 1) with both
// kept within +-7 (gate only from above).
Tensor activate_gated(Activation activation, const Tensor& gate, const Tensor& up);

}  // namespace wick
