#pragma once

#include "graph/numbers.h"

namespace wick::graph {

// Activations of f32 in one pass, of which ops/ has only the parts. `x` may be of any layout.
Tensor hard_sigmoid_map(const Tensor& x, float alpha, float beta);
Tensor hard_swish_map(const Tensor& x);
Tensor leaky_relu_map(const Tensor& x, float alpha);
Tensor clip_map(const Tensor& x, float low, float high);
// out = max(out, 0) and the like, in place: what is fused behind a product or a convolution whose output is fresh.
void activate_in_place(const Tensor& out, const std::string& name, const std::vector<float>& parameters);
// out[..., i] += bias[i] in place.
void add_row_in_place(const Tensor& out, const Tensor& bias);

}  // namespace wick::graph
