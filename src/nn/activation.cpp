#include "nn/activation.h"

#include <limits>

#include "base/error.h"
#include "base/text.h"
#include "ops/binary.h"
#include "ops/compare.h"
#include "ops/unary.h"

namespace wick {
namespace {

struct ActivationName {
  std::string_view name;
  Activation activation;
};
constexpr ActivationName kNames[] = {
    {"silu", Activation::kSilu},
    {"swish", Activation::kSilu},
    {"gelu", Activation::kGelu},
    {"gelu_tanh", Activation::kGeluTanh},
    {"gelu_new", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},
    {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"relu", Activation::kRelu},
    {"relu2", Activation::kReluSquared},
    {"clamped_swiglu", Activation::kClampedSwiglu},
    {"xielu", Activation::kXielu},
    {"quick_gelu", Activation::kQuickGelu},
};

}  // namespace

Activation activation_named(std::string_view name) {
  std::string known;
  for (const ActivationName& row : kNames) {
    if (row.name == name) return row.activation;
    known += cat(known.empty() ? "" : ", ", row.name);
  }
  throw Error(ErrorCode::kUnsupported, cat("the activation '", name, "' is not known; known are ", known));
}

std::string_view to_string(Activation activation) {
  for (const ActivationName& row : kNames) {
    if (row.activation == activation) return row.name;
  }
  return "?";
}

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::kSilu: return silu(x);
    case Activation::kGelu: return gelu(x);
    case Activation::kGeluTanh: return gelu_tanh(x);
    case Activation::kRelu: return relu(x);
    case Activation::kReluSquared: return sqr(relu(x));
    case Activation::kQuickGelu: return mul(x, sigmoid(mul(x, 1.702)));
    case Activation::kClampedSwiglu: throw Error(ErrorCode::kUnsupported, "clamped_swiglu needs a gate");
    case Activation::kXielu: throw Error(ErrorCode::kUnsupported, "xielu needs numbers of its own and no gate");
  }
  return x;
}

Tensor Xielu::operator()(const Tensor& x) const {
  const Tensor high = mul(sqr(x), above);
  const Tensor low = mul(sub(sub(exp(clamp(x, -std::numeric_limits<double>::infinity(), least)), 1), x), below);
  return add(where(gt(x, 0), high, low), mul(x, beta));
}

Tensor activate_gated(Activation activation, const Tensor& gate, const Tensor& up) {
  if (activation != Activation::kClampedSwiglu) return mul(activate(activation, gate), up);
  constexpr double kLimit = 7, kSlope = 1.702;
  const Tensor low = clamp(gate, -std::numeric_limits<double>::infinity(), kLimit);
  return mul(mul(low, sigmoid(mul(low, kSlope))), add(clamp(up, -kLimit, kLimit), 1));
}

}  // namespace wick
