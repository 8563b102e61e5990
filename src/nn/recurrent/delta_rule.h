#pragma once

#include "nn/linear.h"
#include "nn/recurrent/mixer.h"

namespace wick {

// The gated delta rule of Qwen3-Next: each head remembers values by keys, fades what it knows by a factor of the token,
// and takes up a part, beta, of what a value differs from what its key says already.
struct DeltaRule final : RecurrentMixer {
  int64_t key_heads = 0, heads = 0, key_dim = 0, value_dim = 0, taps = 0;
  Linear qkv;          // [key_width * 2 + inner, hidden]: q, k and v; with `fused_order`, z behind them
  Linear z;            // [inner, hidden]: the gate; undefined: it is part of qkv
  Linear b;            // [heads, hidden]: beta before its sigmoid; with `fused_ba_order`, the fall behind it
  Linear a;            // [heads, hidden]: the fall before its softplus; undefined: it is part of b
  Tensor fused_order;  // i64: which outputs of qkv are q, k, v and z, where these lie together for each key head
  Tensor fused_ba_order;
  Linear out;             // [hidden, inner]
  Tensor conv_weight;     // f32 [taps, key_width * 2 + inner]
  Tensor dt_bias, speed;  // f32 [heads]: fall = speed * softplus(a + dt_bias)
  Tensor norm_weight;     // f32 [value_dim]
  float norm_eps = 1e-6f;

  int64_t key_width() const { return key_heads * key_dim; }
  int64_t inner() const { return heads * value_dim; }
  int64_t conv_channels() const { return 2 * key_width() + inner(); }
  // The convolution's history and the memory.
  std::vector<Shape> state_shapes() const override {
    return {{taps - 1, conv_channels()}, {heads, key_dim, value_dim}};
  }
  Tensor operator()(const Tensor& x, const MixerStep& step) const override;
};

}  // namespace wick
