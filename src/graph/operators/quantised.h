#pragma once

#include "graph/numbers.h"
#include "graph/operators.h"

namespace wick::graph {

// Numbers that a scale and a zero point stand for: one for all, one per index of an axis, or one per block of it.
struct Scaling {
  Tensor scale, zero;  // f32, row-major; zero may be undefined
  int axis = 0;
  int64_t block = 0;  // 0: no blocks
};
// Inputs `scale` and `zero` of a node for x. Throws Error where they do not fit.
Scaling scaling_of(OpRun& run, const Tensor& x, int scale, int zero, int axis, int64_t block);
Tensor dequantise(const Tensor& x, const Scaling& scaling);  // f32
// Rounded, halves to even, and within [low, high].
Tensor quantise(const Tensor& x, const Scaling& scaling, double low, double high);  // f32
void check_bytes(OpRun& run, int input);  // throws Error unless it is of whole numbers of 8 bits
double lowest_of(ElementType type);
double highest_of(ElementType type);

}  // namespace wick::graph
