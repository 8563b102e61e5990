#include "ops/ge.h"

#include "ops/elementwise.h"

namespace wick {

Tensor ge(const Tensor& a, const Tensor& b) { return apply_compare("ge", CompareOp::kGe, a, b); }
Tensor ge(const Tensor& a, double b) { return ge(a, scalar_beside(a, b)); }

}  // namespace wick
