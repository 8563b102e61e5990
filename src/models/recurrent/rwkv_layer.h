#pragma once

#include "models/recurrent/recurrent_step.h"
#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

// What one layer of RWKV-4 carries from token to token.
enum RwkvState : size_t {
  kRwkvTimeRow,     // [hidden] the last row that entered time_mix
  kRwkvChannelRow,  // [hidden] the last row that entered channel_mix
  kRwkvSums,        // [3, inner] weighted sum of values, sum of weights, largest exponent so far
  kRwkvStateCount,
};
inline constexpr float kRwkvNoExponent = -1e38f;  // before the first token

// A running average of values, each weighed by e^key and forgotten at its channel's rate; `bonus` is added to the key
// of the token itself. Inputs are blends of a row with the row before.
struct RwkvTimeMix {
  Linear key, value, receptance, out;
  Tensor blend_key, blend_value, blend_receptance;  // f32 [hidden]
  Tensor decay;                                     // f32 [inner]: by how much exponents fall per token, above zero
  Tensor bonus;                                     // f32 [inner]

  Tensor operator()(const Tensor& x, const RecurrentStep& step, int layer) const;  // [tokens, hidden]

 private:
  Tensor average(const Tensor& keys, const Tensor& values, const RecurrentStep& step, int layer) const;
};

// sigmoid(receptance) * value(relu(key)^2), on blends of a row with the row before.
struct RwkvChannelMix {
  Linear key, value, receptance;
  Tensor blend_key, blend_receptance;  // f32 [hidden]

  Tensor operator()(const Tensor& x, const RecurrentStep& step, int layer) const;  // [tokens, hidden]
};

struct RwkvLayer {
  Norm time_norm, channel_norm;
  RwkvTimeMix time_mix;
  RwkvChannelMix channel_mix;
};

}  // namespace wick
