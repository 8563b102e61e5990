#include "ops/gt.h"

#include "ops/elementwise.h"

namespace wick {

Tensor gt(const Tensor& a, const Tensor& b) { return apply_compare("gt", CompareOp::kGt, a, b); }
Tensor gt(const Tensor& a, double b) { return gt(a, scalar_beside(a, b)); }

}  // namespace wick
