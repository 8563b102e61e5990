#include "ops/lt.h"

#include "ops/elementwise.h"

namespace wick {

Tensor lt(const Tensor& a, const Tensor& b) { return apply_compare("lt", CompareOp::kLt, a, b); }
Tensor lt(const Tensor& a, double b) { return lt(a, scalar_beside(a, b)); }

}  // namespace wick
