#pragma once

#include "tensor/tensor.h"

namespace wick {

// The recurrences of recurrent models on devices whose memory the host cannot read; for the host they stand beside the
// models. Each takes the rows of one sequence, in order, and its state, which goes on from where it was. All f32, the
// last dimension dense; rows of inputs may lie apart. What comes from a row does not depend on where rows are cut.
struct RecurrentKernels {
  // h = exp(dt a) h + dt u b; y = c h + d u
  void (*mamba)(const Tensor& u,   // [tokens, inner]
                const Tensor& dt,  // [tokens, inner]
                const Tensor& b,   // [tokens, states]
                const Tensor& c,   // [tokens, states]
                const Tensor& a,   // [states, inner]
                const Tensor& d,   // [inner]
                const Tensor& h,   // [states, inner]
                const Tensor& y) = nullptr;
  // The same with heads that share a, d and dt, in groups that share b and c.
  void (*mamba2)(const Tensor& x,   // [tokens, heads * head_dim]
                 const Tensor& dt,  // [tokens, heads]
                 const Tensor& b,   // [tokens, groups * states]
                 const Tensor& c,   // [tokens, groups * states]
                 const Tensor& a,   // [heads]
                 const Tensor& d,   // [heads]
                 const Tensor& h,   // [heads, states, head_dim]
                 const Tensor& y) = nullptr;
  // The running average of RWKV; sums [3, inner] are those of values and weights, and the largest exponent.
  void (*rwkv)(const Tensor& keys,    // [tokens, inner]
               const Tensor& values,  // [tokens, inner]
               const Tensor& decay,   // [tokens, inner]
               const Tensor& bonus,   // [inner]
               const Tensor& sums, const Tensor& out) = nullptr;
};

// Null for the host.
const RecurrentKernels* recurrent_kernels(Device device);

}  // namespace wick
