#include "nn/recurrent/matrix_memory.h"

#include <algorithm>
#include <cmath>

#include "ops/binary.h"
#include "ops/layers/norm.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {

Tensor MatrixMemory::operator()(const Tensor& x, const MixerStep& step) const {
  const int64_t rows = x.dim(0);
  const Tensor open = step.hook(HookPoint::kGate, sigmoid(gate(x)));
  const Tensor values = step.hook(HookPoint::kMixerIn, v(x)).contiguous();
  const Tensor falls = step.hook(HookPoint::kDecay, softplus(neg(within_cap(forget(x))))).contiguous();
  const Tensor exponents = within_cap(in(x));
  const Tensor by_head = reshape(values, {rows, heads, value_dim});
  const Tensor counted = concat({by_head, ones({rows, heads, 1}, DType::kF32, x.device())}, 2);
  const Tensor queries = mul(q(x), 1 / std::sqrt(static_cast<double>(key_dim)));
  const Tensor read = reshape(mamba2_scan(reshape(counted, {rows, heads * (value_dim + 1)}), exp(exponents), k(x),
                                          queries, neg(falls), {}, step.rows(1)),
                              {rows, heads, value_dim + 1});
  step.hook_state(1);
  // eps counts at the scale of the largest exponent.
  const Tensor least = mul(exp(largest(exponents, falls, step)), eps);
  const Tensor amount = add(maximum(abs(narrow(read, 2, value_dim, 1)), 1), reshape(least, {rows, heads, 1}));
  const Tensor normed = layer_norm(div(narrow(read, 2, 0, value_dim), amount), {}, {}, norm_eps);
  return out(mul(open, mul(reshape(normed, {rows, inner()}), norm_weight)));
}

Tensor MatrixMemory::within_cap(const Tensor& gates) const { return mul(tanh(mul(gates, 1 / gate_cap)), gate_cap); }

// m = max(m - fall, gate) along each sequence, f32 [rows, heads]: a few numbers, which the host works out.
Tensor MatrixMemory::largest(const Tensor& gates, const Tensor& falls, const MixerStep& step) const {
  const Tensor gates_here = gates.to_device(Device::cpu()), falls_here = falls.to_device(Device::cpu());
  const Tensor tops = empty({gates.dim(0), heads});
  const float *gate = gates_here.data<float>(), *fall = falls_here.data<float>();
  float* top = tops.mutable_data<float>();
  for (const SequenceState& of : step.sequences) {
    std::vector<float> now = step.state(of, 0).to_vector<float>();
    for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
      for (int64_t head = 0; head < heads; ++head) {
        float& most = now[static_cast<size_t>(head)];
        top[t * heads + head] = most = std::max(most - fall[t * heads + head], gate[t * heads + head]);
      }
    }
    copy_values(from_vector(now, {heads}, falls.device()), step.state(of, 0));
  }
  return tops.to_device(falls.device());
}

}  // namespace wick
