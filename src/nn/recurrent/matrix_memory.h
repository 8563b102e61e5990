#pragma once

#include "nn/linear.h"
#include "nn/recurrent/mixer.h"

namespace wick {

// The memory of xLSTM: each head keeps a matrix C = f C + i k v^T of what keys stand for and n = f n + i k of how much
// of it there is, and reads q C / max(|q n|, 1). i = e^(its gate) and f = sigmoid(its gate), both gates within a cap.
struct MatrixMemory final : RecurrentMixer {
  int64_t heads = 0, key_dim = 0, value_dim = 0;
  Linear q, k, v;       // [heads * key_dim, hidden] twice, [inner, hidden]
  Linear in, forget;    // [heads, hidden]: the gates
  Linear gate, out;     // [inner, hidden], [hidden, inner]
  Tensor norm_weight;   // f32 [inner]; the norm is a LayerNorm of each head
  float gate_cap = 15;  // so that e^gate needs no other scale
  float eps = 1e-6f, norm_eps = 1e-6f;

  int64_t inner() const { return heads * value_dim; }
  // The largest exponent that was met, as it fades; C with n as one more column.
  std::vector<Shape> state_shapes() const override { return {{heads}, {heads, key_dim, value_dim + 1}}; }
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;

 private:
  Tensor within_cap(const Tensor& gates) const;
  Tensor largest(const Tensor& gates, const Tensor& falls, const MixerStep& step) const;
};

}  // namespace wick
