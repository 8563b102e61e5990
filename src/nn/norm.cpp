#include "nn/norm.h"

#include "ops/layers/norm.h"

namespace wick {

Tensor Norm::operator()(const Tensor& x) const {
  switch (kind) {
    case NormKind::kRms: return rms_norm(x, weight, eps);
    case NormKind::kLayer: return layer_norm(x, weight, bias, eps);
    case NormKind::kNone: break;
  }
  return x;
}

LinearInput Norm::input_for(const Tensor& x) const {
  return kind == NormKind::kRms && weight.defined() ? LinearInput{x, weight, eps} : LinearInput{(*this)(x)};
}

}  // namespace wick
