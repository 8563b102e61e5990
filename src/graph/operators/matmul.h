#pragma once

#include "graph/numbers.h"
#include "graph/operators.h"

namespace wick::graph {

// As NumPy's: a vector counts as a row on the left, as a column on the right.
Tensor multiply(const Tensor& a, const Tensor& b);
// a [..., m, k] x b [..., k, n] of whole numbers in f32, as i32: exact. `largest`: no product of two is larger.
Tensor multiply_whole(const Tensor& a, const Tensor& b, double largest = 255.0 * 255.0);

}  // namespace wick::graph
