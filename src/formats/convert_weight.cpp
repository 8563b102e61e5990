#include "formats/convert_weight.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "formats/empty_pages.h"
#include "formats/gguf/gguf_config.h"
#include "formats/layout_copy.h"
#include "quant/rows.h"

namespace wick {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;  // the slowest types take a good part of a second for them

// done(begin, bytes) hears of each piece of the source that has been read.
Tensor convert(const Tensor& x, DType dtype, std::span<const float> importance,
               FunctionRef<void(const std::byte*, int64_t)> done) {
  const Tensor source = compact(x);
  Tensor out = empty_pages(x.shape(), dtype);
  if (x.numel() == 0) return out;
  const int64_t columns = x.rank() ? x.dim(-1) : 1, rows = x.numel() / columns;
  const auto given = static_cast<int64_t>(importance.size());
  const int64_t parts = given > columns ? given / columns : 1;
  if (given != 0 && (given != parts * columns || (parts > 1 && (x.rank() < 3 || parts != x.dim(0))))) {
    throw Error(ErrorCode::kShape, cat("quantize: ", given, " importances for weights ", x.shape()));
  }
  const int64_t from_bytes = bytes_of(x.dtype(), columns), to_bytes = bytes_of(dtype, columns);
  const int64_t part_rows = rows / parts, piece_rows = std::max<int64_t>(1, kPieceBytes / from_bytes);
  for (int64_t part = 0; part < parts; ++part) {
    const float* weights = given ? importance.data() + part * columns : nullptr;
    for (int64_t row = part * part_rows; row < (part + 1) * part_rows; row += piece_rows) {
      const int64_t count = std::min(piece_rows, (part + 1) * part_rows - row);
      const std::byte* from = source.raw() + row * from_bytes;
      convert_rows({x.dtype(), dtype, from, out.raw() + row * to_bytes, count, columns, weights});
      done(from, count * from_bytes);
    }
  }
  return out;
}

}  // namespace

Tensor convert_tensor(const Tensor& x, DType dtype, std::span<const float> importance,
                      FunctionRef<void(int64_t bytes)> done) {
  if (x.dtype() == dtype) return x;
  return convert(x, dtype, importance, [&](const std::byte*, int64_t bytes) { done(bytes); });
}

Tensor convert_and_forget(const WeightSource& source, const Tensor& x, DType dtype, std::span<const float> importance) {
  if (x.dtype() == dtype) return x;
  return convert(x, dtype, importance,
                 [&](const std::byte* begin, int64_t bytes) { source.forget_bytes(begin, bytes); });
}

Tensor in_natural_order(const LoadedWeight& loaded) {
  if (!loaded.input_order.defined()) return loaded.weight;
  const Tensor sorted = convert_tensor(loaded.weight, DType::kF32);
  Tensor out = empty_pages(sorted.shape(), DType::kF32);
  const int64_t columns = sorted.dim(-1), rows = sorted.numel() / columns;
  const int64_t* order = loaded.input_order.data<int64_t>();
  const float* from = sorted.data<float>();
  auto* to = reinterpret_cast<float*>(out.raw());
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
  return {convert_and_forget(source, in_natural_order(loaded), dtype), {}};
}

}  // namespace wick
