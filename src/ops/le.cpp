#include "ops/le.h"

#include "ops/elementwise.h"

namespace wick {

Tensor le(const Tensor& a, const Tensor& b) { return apply_compare("le", CompareOp::kLe, a, b); }
Tensor le(const Tensor& a, double b) { return le(a, scalar_beside(a, b)); }

}  // namespace wick
