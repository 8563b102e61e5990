#pragma once

#include <span>

#include "hooks/batch_hooks.h"
#include "nn/linear.h"

namespace wick {

// The rows of one sequence among those of a batch, and what the convolution remembers of the rows before them.
struct ConvRows {
  int64_t begin, count;
  Tensor history;  // f32 [taps - 1, channels]
};

// A causal convolution over the last few tokens, one filter per channel: y[t] = sum_i weight[i] x[t - taps + 1 + i].
// `sequences` cover the rows of x in order; their histories are moved on in place. Sums run in one order, so chunks
// give the same bits as the whole.
Tensor causal_conv(const Tensor& x,       // f32 [tokens, channels]
                   const Tensor& weight,  // f32 [taps, channels]
                   const Tensor& bias,    // f32 [channels]; undefined: none
                   std::span<const ConvRows> sequences);
// Files hold filters as [channels, taps]; undefined stays undefined.
Tensor taps_first(const Tensor& filters);

// The gated short convolution of LFM2: b, c, x = in(h); out(c * conv(b * x)).
struct ShortConv {
  Linear in, out;
  Tensor weight;  // f32 [taps, hidden]
  Tensor bias;    // f32 [hidden]; undefined: none

  using Rows = ConvRows;
  Tensor operator()(const Tensor& x, std::span<const Rows> sequences, const BatchHooks& hooks, int layer) const;
};

}  // namespace wick
