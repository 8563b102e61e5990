#include "nn/layer_inputs.h"

#include <numbers>

#include "ops/binary.h"
#include "ops/index.h"
#include "ops/view.h"

namespace wick {

Tensor LayerEmbeddings::operator()(const Tensor& ids, const Tensor& x) const {
  const Tensor places = rows.defined() ? reshape(take_rows(rows, ids), {-1}) : ids;
  const Tensor own = mul(take_rows(table, places).to_dtype(DType::kF32), table_scale);
  const Tensor projected = mul(projection({x}, {}), projection_scale);
  const Tensor normed = reshape(norm(reshape(projected, {-1, size})), own.shape());
  return mul(add(normed, own), 1 / std::numbers::sqrt2);
}

Tensor LayerInput::operator()(const Tensor& x, const Tensor& inputs, int layer) const {
  const Tensor part = narrow(inputs, 1, layer * gate.outputs(), gate.outputs());
  return norm(out({mul(activate(activation, gate({x}, {})), part)}, {}));
}

Tensor Laurel::operator()(const Tensor& x) const { return add(x, norm(right({left({x}, {})}, {}))); }

}  // namespace wick
