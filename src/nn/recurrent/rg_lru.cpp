#include "nn/recurrent/rg_lru.h"

#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {

Tensor RgLru::operator()(const Tensor& x, const MixerStep& step) const {
  const int64_t rows = x.dim(0), block = width / std::ssize(gates);
  const Tensor open = step.hook(HookPoint::kGate, activate(activation, gate(x)));
  const Tensor convolved = causal_conv(in(x), conv_weight, conv_bias, step.rows(0));
  const Tensor u = step.hook(HookPoint::kMixerIn, convolved).contiguous();
  std::vector<Tensor> inputs, falls;
  for (size_t i = 0; i < gates.size(); ++i) {
    const Tensor both = gates[i](narrow(u, 1, static_cast<int64_t>(i) * block, block).contiguous());
    inputs.push_back(narrow(both, 1, 0, block));
    falls.push_back(narrow(both, 1, block, block));
  }
  const Tensor fall = step.hook(HookPoint::kDecay, mul(sigmoid(concat(falls, 1)), speed)).contiguous();
  const Tensor entering = mul(mul(u, sigmoid(concat(inputs, 1))), input_scale(fall, step));
  const Device device = x.device();
  const Tensor whole = ones({rows, width}, DType::kF32, device), one = ones({rows, 1}, DType::kF32, device);
  const Tensor y = mamba2_scan(entering, whole, one, one, neg(fall), {}, step.rows(1));
  step.hook_state(1);
  return out(mul(y, open));
}

// sqrt(1 - a^2); 1 for the first token of a text.
Tensor RgLru::input_scale(const Tensor& falls, const MixerStep& step) const {
  const Tensor scale = sqrt(sub(1, exp(mul(falls, -2))));
  for (const SequenceState& of : step.sequences) {
    if (of.count == 0 || step.positions[static_cast<size_t>(of.begin)] != 0) continue;
    copy_values(ones({1, width}, DType::kF32, scale.device()), narrow(scale, 0, of.begin, 1));
  }
  return scale;
}

}  // namespace wick
