#include <algorithm>
#include <cmath>

#include "graph/numbers.h"
#include "graph/operators.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/reduction.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick::graph {
namespace {

void array_feature_extractor_op(OpRun& run) {
  const std::vector<int64_t> places = run.ints(1);
  run.set(0, moved(run.in(0), [&](const Tensor& x) {
            for (const int64_t place : places) {
              if (x.rank() == 0 || place < 0 || place >= x.dim(-1))
                throw bad_input(cat("column ", place, " of ", x.shape()));
            }
            const Tensor picked = index_select(x, -1, longs(places));
            return x.rank() == 1 ? unsqueeze(picked, 0) : picked;
          }));
}

void binarizer_op(OpRun& run) {
  const double limit = run.get("threshold", 0.0f);
  run.set(0, map_float(run.in(0), [&](double x) { return x > limit ? 1.0 : 0.0; }));
}

// Keys and values are texts, whole numbers or floats.
void label_encoder_op(OpRun& run) {
  const auto list = [&](const char* kind) {
    std::vector<std::string> out;
    if (const auto* texts = run.node().find(cat(kind, "_strings"))) out = texts->strings;
    for (const int64_t n : run.ints(cat(kind, "_int64s"))) out.push_back(cat(n));
    for (const float f : run.floats(cat(kind, "_floats"))) out.push_back(std::isnan(f) ? "nan" : cat(f));
    if (const auto* tensor = run.node().find(cat(kind, "_tensor"))) {
      if (tensor->value.kind() == Value::Kind::kStrings) {
        out = tensor->value.strings().values;
      } else if (is_float(tensor->value.type())) {
        for (const float f : tensor->value.tensor().to_vector<float>()) out.push_back(std::isnan(f) ? "nan" : cat(f));
      } else {
        for (const int64_t n : tensor->value.tensor().to_vector<int64_t>()) out.push_back(cat(n));
      }
    }
    return out;
  };
  if (run.opset() < 2) throw not_offered("it is of version 1");
  const std::vector<std::string> keys = list("keys"), values = list("values");
  if (keys.size() != values.size()) throw bad_input(cat(keys.size(), " keys and ", values.size(), " values"));
  std::vector<std::string> from;
  if (run.in(0).kind() == Value::Kind::kStrings) {
    from = run.strings(0).values;
  } else if (is_float(run.type(0))) {
    for (const float f : run.tensor(0).to_vector<float>()) from.push_back(std::isnan(f) ? "nan" : cat(f));
  } else {
    for (const int64_t n : run.tensor(0).to_vector<int64_t>()) from.push_back(cat(n));
  }
  const auto find = [&](const std::string& key) {
    const auto found = std::find(keys.begin(), keys.end(), key);
    return found == keys.end() ? -1 : found - keys.begin();
  };
  const Shape shape = run.in(0).shape();
  const auto* tensor = run.node().find("values_tensor");
  const auto* otherwise = run.node().find("default_tensor");
  const bool texts = run.has("values_strings") || (tensor && tensor->value.kind() == Value::Kind::kStrings);
  if (texts) {
    std::string usual = run.get("default_string", "_Unused");
    if (otherwise && otherwise->value.kind() == Value::Kind::kStrings && otherwise->value.strings().values.size() == 1)
      usual = otherwise->value.strings().values[0];
    Strings out{shape, {}};
    for (const std::string& key : from) out.values.push_back(find(key) < 0 ? usual : values[find(key)]);
    return run.set(0, Value(std::move(out)));
  }
  const bool whole = run.has("values_int64s") || (tensor && !is_float(tensor->value.type()));
  double usual = whole ? static_cast<double>(run.get("default_int64", int64_t{-1}))
                       : static_cast<double>(run.get("default_float", -0.0f));
  if (otherwise && otherwise->value.kind() == Value::Kind::kTensor) usual = otherwise->value.tensor().item();
  Doubles out(shape);
  for (size_t i = 0; i < from.size(); ++i) {
    const auto at = find(from[i]);
    out.out()[i] = at < 0 ? usual : values[at] == "nan" ? std::nan("") : std::stod(values[at]);
  }
  run.set(0, store(out.tensor(), tensor ? tensor->value.type() : whole ? ElementType::kI64 : ElementType::kF32));
}

Tensor features(OpRun& run) { return run.tensor(0).to_dtype(DType::kF32); }
Tensor row_of(const std::vector<float>& values) { return from_vector(values, Shape{std::ssize(values)}); }

void scaler_op(OpRun& run) {
  Tensor x = features(run);
  if (run.has("offset")) x = sub(x, row_of(run.floats("offset")));
  if (run.has("scale")) x = mul(x, row_of(run.floats("scale")));
  run.set(0, x);
}

void normalizer_op(OpRun& run) {
  const Tensor x = features(run);
  const std::string norm = run.get("norm", "MAX");
  Tensor size;
  if (norm == "MAX") size = max(x, {-1}, true);
  if (norm == "L1") size = sum(abs(x), {-1}, true);
  if (norm == "L2") size = sqrt(sum(sqr(x), {-1}, true));
  if (!size.defined()) throw bad_input(cat("norm is '", norm, "'"));
  run.set(0, div(x, size));
}

void linear_regressor_op(OpRun& run) {
  const Tensor x = features(run);
  const int64_t targets = run.get("targets", int64_t{1});
  const auto weights = run.floats("coefficients"), bias = run.floats("intercepts");
  if (run.get("post_transform", "NONE") != "NONE") throw not_offered("post_transform is given");
  if (x.rank() != 2 || targets < 1 || std::ssize(weights) != targets * x.dim(1))
    throw Error(ErrorCode::kShape, cat(weights.size(), " coefficients for ", x.shape()));
  Tensor out = matmul(x, transpose(reshape(row_of(weights), {targets, x.dim(1)}), 0, 1));
  if (!bias.empty()) out = add(out, row_of(bias));
  run.set(0, out);
}

constexpr Operator kOperators[] = {
    {"ArrayFeatureExtractor", array_feature_extractor_op},
    {"Binarizer", binarizer_op, "threshold"},
    {"LabelEncoder", label_encoder_op,
     "default_float default_int64 default_string default_tensor keys_floats keys_int64s keys_strings keys_tensor "
     "values_floats values_int64s values_strings values_tensor"},
    {"LinearRegressor", linear_regressor_op, "coefficients intercepts post_transform targets"},
    {"Normalizer", normalizer_op, "norm"},
    {"Scaler", scaler_op, "offset scale"},
};

}  // namespace

Operators classic_operators() { return kOperators; }

}  // namespace wick::graph
