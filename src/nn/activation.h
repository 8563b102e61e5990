#pragma once

#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace wick {

enum class Activation : uint8_t { kSilu, kGelu, kGeluTanh, kRelu, kReluSquared, kClampedSwiglu };

// By the name that config.json gives it ("silu", "gelu_pytorch_tanh", ...). Throws Error(kUnsupported) with the names
// known.
Activation activation_named(std::string_view name);
std::string_view to_string(Activation activation);

Tensor activate(Activation activation, const Tensor& x);
// activate(gate) * up. kClampedSwiglu, which has only this form, is gate * sigmoid(1.702 gate) * (up + 1) with both
// kept within +-7 (gate only from above).
Tensor activate_gated(Activation activation, const Tensor& gate, const Tensor& up);

}  // namespace wick
