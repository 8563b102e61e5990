#include "ops/ne.h"

#include "ops/elementwise.h"

namespace wick {

Tensor ne(const Tensor& a, const Tensor& b) { return apply_compare("ne", CompareOp::kNe, a, b); }
Tensor ne(const Tensor& a, double b) { return ne(a, scalar_beside(a, b)); }

}  // namespace wick
