#pragma once

#include "hooks/batch_hooks.h"
#include "nn/linear.h"

namespace wick {

// A causal convolution over the last few tokens, one filter per channel: y[t] = sum_i weight[:, i] x[t - taps + 1 + i].
// `rows` [tokens, channels] is one sequence; `history` [taps - 1, channels] holds the rows before it and is moved on in
// place. Sums run in one order, so chunks give the same bits as the whole.
Tensor causal_conv(const Tensor& rows, const Tensor& weight /* f32 [channels, taps] */, const Tensor& bias,
                   const Tensor& history);

// The gated short convolution of LFM2: b, c, x = in(h); out(c * conv(b * x)).
struct ShortConv {
  Linear in, out;
  Tensor weight;  // f32 [hidden, taps]
  Tensor bias;    // f32 [hidden]; undefined: none

  struct Rows {
    int64_t begin, count;
    Tensor history;  // f32 [taps - 1, hidden]
  };
  Tensor operator()(const Tensor& x, std::span<const Rows> sequences, const BatchHooks& hooks, int layer) const;
};

}  // namespace wick
