#include "ops/eq.h"

#include "ops/elementwise.h"

namespace wick {

Tensor eq(const Tensor& a, const Tensor& b) { return apply_compare("eq", CompareOp::kEq, a, b); }
Tensor eq(const Tensor& a, double b) { return eq(a, scalar_beside(a, b)); }

}  // namespace wick
