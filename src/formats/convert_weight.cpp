#include "formats/convert_weight.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/gguf_config.h"
#include "formats/layout_copy.h"
#include "quant/rows.h"
#include "tensor/create.h"

namespace wick {

Tensor convert_tensor(const Tensor& x, DType dtype, std::span<const float> importance) {
  if (x.dtype() == dtype) return x;
  const Tensor source = compact(x);
  Tensor out = empty(x.shape(), dtype);
  if (x.numel() == 0) return out;
  const int64_t columns = x.rank() ? x.dim(-1) : 1, rows = x.numel() / columns;
  const auto given = static_cast<int64_t>(importance.size());
  const int64_t parts = given > columns ? given / columns : 1;
  if (given != 0 && (given != parts * columns || (parts > 1 && (x.rank() < 3 || parts != x.dim(0))))) {
    throw Error(ErrorCode::kShape, cat("quantize: ", given, " importances for weights ", x.shape()));
  }
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t start = part * (rows / parts);
    convert_rows({x.dtype(), dtype, source.raw() + start * bytes_of(x.dtype(), columns),
                  out.raw() + start * bytes_of(dtype, columns), rows / parts, columns,
                  given ? importance.data() + part * columns : nullptr});
  }
  return out;
}

Tensor in_natural_order(const LoadedWeight& loaded) {
  if (!loaded.input_order.defined()) return loaded.weight;
  const Tensor sorted = convert_tensor(loaded.weight, DType::kF32);
  Tensor out = empty(sorted.shape(), DType::kF32);
  const int64_t columns = sorted.dim(-1), rows = sorted.numel() / columns;
  const int64_t* order = loaded.input_order.data<int64_t>();
  const float* from = sorted.data<float>();
  float* to = out.mutable_data<float>();
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i) to[row * columns + order[i]] = from[row * columns + i];
  }
  return out;
}

PlanFacts plan_facts(const WeightSource& source) {
  PlanFacts facts;
  facts.architecture = source.architecture();
  facts.heads = source.counts().heads;
  facts.kv_heads = source.counts().kv_heads;
  facts.experts = source.experts();
  if (!source.config().is_object()) return facts;
  const Json& config = text_config(source.config());
  facts.layers = config.get<int64_t>("num_hidden_layers", config.get<int64_t>("n_layer", 0));
  return facts;
}

LoadedWeight load_weight(const WeightSource& source, std::string_view hf_name, const QuantizePlan& plan) {
  LoadedWeight loaded = source.get(hf_name);
  const bool tied = source.config().is_object() && text_config(source.config()).get("tie_word_embeddings", false);
  const DType dtype =
      plan.choose_one({hf_name, loaded.weight.shape(), loaded.weight.dtype()}, plan_facts(source), tied);
  if (dtype == loaded.weight.dtype()) return loaded;
  const Tensor plain = in_natural_order(loaded);
  LoadedWeight converted{convert_tensor(plain, dtype), {}};
  source.forget_bytes(loaded.weight);
  return converted;
}

}  // namespace wick
