#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// The rows of one sequence among those of a batch, and what it carries from row to row: moved on in place.
struct StateRows {
  int64_t begin, count;
  Tensor state;  // f32, row-major
};

// What recurrent layers do along a sequence. `sequences` cover the rows in order. All f32; the last dimension of inputs
// is dense, rows may lie apart. Sums run in one order, so chunks give the bits of the whole.

// A causal convolution over the last few rows, one filter per channel: y[t] = bias + sum_i weight[i] x[t - taps + 1 +
// i]. The state is the rows before, [taps - 1, channels].
Tensor causal_conv(const Tensor& x,       // [rows, channels]
                   const Tensor& weight,  // [taps, channels]
                   const Tensor& bias,    // [channels]; undefined: none
                   std::span<const StateRows> sequences);

// The selective scan of Mamba: h = exp(dt a) h + dt u b; y = c h + d u. The state is h, [states, inner].
Tensor mamba_scan(const Tensor& u,   // [rows, inner]
                  const Tensor& dt,  // [rows, inner]
                  const Tensor& b,   // [rows, states]
                  const Tensor& c,   // [rows, states]
                  const Tensor& a,   // [states, inner]
                  const Tensor& d,   // [inner]
                  std::span<const StateRows> sequences);

// The same of Mamba 2, with heads that share a, d and dt, in groups that share b and c. The state is
// [heads, states, head_dim]. Where `a` has a row for each of x, states are kept by exp(a) of it instead of exp(dt a):
// the gated linear attention of xLSTM, with keys b and queries c, and the recurrence of Griffin.
Tensor mamba2_scan(const Tensor& x,   // [rows, heads * head_dim]
                   const Tensor& dt,  // [rows, heads]
                   const Tensor& b,   // [rows, groups * states]
                   const Tensor& c,   // [rows, groups * states]
                   const Tensor& a,   // [heads] or [rows, heads]
                   const Tensor& d,   // [heads]; undefined: zeros
                   std::span<const StateRows> sequences);

// The running average of RWKV. The state is [3, inner]: sums of values and of weights, relative to e^ the third.
Tensor rwkv_scan(const Tensor& keys,    // [rows, inner]
                 const Tensor& values,  // [rows, inner]
                 const Tensor& decay,   // [rows, inner]
                 const Tensor& bonus,   // [inner]
                 std::span<const StateRows> sequences);

// The gated delta rule, with a memory S of what keys stand for, [key_dim, value_dim] for each of `heads`: S = e^-fall
// S, then S = S + k (x) beta (v - k S); y = q S / sqrt(key_dim). Heads share queries and keys in groups, as values have
// more of them. The state is S, [heads, key_dim, value_dim].
Tensor delta_rule_scan(const Tensor& queries,  // [rows, key_heads * key_dim]
                       const Tensor& keys,     // [rows, key_heads * key_dim]
                       const Tensor& values,   // [rows, heads * value_dim]
                       const Tensor& falls,    // [rows, heads]
                       const Tensor& betas,    // [rows, heads]
                       std::span<const StateRows> sequences);

}  // namespace wick
