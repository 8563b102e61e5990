#include "interp/attribution.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "interp/run_with_cache.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "tensor/create.h"

namespace wick {
namespace {

double dot(std::span<const float> a, std::span<const double> b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A norm at one row, with its scale frozen: x -> direction . x + bias for a covector `covector` on its output.
struct FrozenNorm {
  std::vector<double> direction;
  double bias = 0;
};

FrozenNorm freeze(const Norm* norm, std::span<const float> row, std::vector<double> covector) {
  if (!norm || !norm->present()) return {std::move(covector), 0};
  const auto count = static_cast<double>(row.size());
  double mean = 0, squares = 0, bias = 0;
  const bool centers = norm->kind == NormKind::kLayer;
  if (centers) {
    for (const float x : row) mean += x / count;
  }
  for (const float x : row) squares += (x - mean) * (x - mean) / count;
  const double scale = 1 / std::sqrt(squares + norm->eps);
  if (norm->bias.defined()) bias = dot(norm->bias.to_vector<float>(), covector);
  if (norm->weight.defined()) {
    const std::vector<float> weight = norm->weight.to_vector<float>();
    for (size_t i = 0; i < weight.size(); ++i) covector[i] *= weight[i];
  }
  double shift = 0;
  if (centers) {
    for (const double x : covector) shift += x / count;
  }
  for (double& x : covector) x = (x - shift) * scale;
  return {std::move(covector), bias};
}

std::vector<float> head_row(const StreamReader& reader, int32_t token) {
  const Tensor index = from_vector(std::vector<int64_t>{token}, {1}).to_device(reader.head->weight.device());
  return take_rows(reader.head->weight, index).to_vector<float>();
}

// The covector on the inputs of a linear that gives `covector` on its outputs, in the order of the inputs.
std::vector<double> pull_back(const Linear& linear, const std::vector<double>& covector) {
  std::vector<float> rounded(covector.begin(), covector.end());
  const Tensor weight = linear.weight.to_device(Device::cpu()).to_dtype(DType::kF32);
  const Tensor product = matmul(from_vector(rounded, {1, static_cast<int64_t>(rounded.size())}), weight);
  const std::vector<double> sorted = product.to_vector<double>();
  if (!linear.input_order.defined()) return sorted;
  const std::vector<int64_t> order = linear.input_order.to_vector<int64_t>();
  std::vector<double> inputs(sorted.size());
  for (size_t i = 0; i < order.size(); ++i) inputs[static_cast<size_t>(order[i])] = sorted[i];
  return inputs;
}

class Attributor {
 public:
  Attributor(const InterpModel& model, std::span<const int32_t> tokens, const AttributionTarget& target,
             const HookSpec& hooks, std::vector<std::string> more_points)
      : reader_(model.reader()) {
    check_token(model, target.token);
    if (target.other >= 0) check_token(model, target.other);
    const int64_t position = check_position(target.position, tokens.size());
    const int last = model.facts().layers - 1;
    CaptureOptions capture;
    capture.points = std::move(more_points);
    capture.points.push_back(hook_name(HookPoint::kResidPre, 0));
    capture.points.push_back(hook_name(HookPoint::kAttnOut, HookSite::kEveryLayer));
    capture.points.push_back(hook_name(HookPoint::kMlpOut, HookSite::kEveryLayer));
    capture.points.push_back(hook_name(HookPoint::kResidPost, last));
    capture.points.push_back(hook_name(HookPoint::kFinalNorm, -1));
    capture.positions = {position};
    capture.logits = LogitRows::kNone;
    capture.may_lack = true;
    const InterpText text{tokens, &hooks};
    cache_ = run_with_cache(model, std::span(&text, 1), capture).cache;

    std::vector<double> covector(static_cast<size_t>(model.facts().hidden));
    const auto add_token = [&](int32_t token, double sign) {
      const std::vector<float> row = head_row(reader_, token);
      for (size_t i = 0; i < row.size(); ++i) covector[i] += sign * reader_.scale * row[i];
      if (!reader_.head->bias.defined()) return;
      bias_ += sign * reader_.scale * reader_.head->bias.to_vector<float>()[static_cast<size_t>(token)];
    };
    add_token(target.token, 1);
    if (target.other >= 0) add_token(target.other, -1);
    logit_ = dot(row(hook_name(HookPoint::kFinalNorm, -1)), covector) + bias_;
    FrozenNorm frozen = freeze(reader_.norm, row(hook_name(HookPoint::kResidPost, last)), std::move(covector));
    direction_ = std::move(frozen.direction);
    bias_ += frozen.bias;
  }

  bool has(HookPoint point, int layer) const { return cache_.has(hook_name(point, layer)); }
  std::vector<float> row(const std::string& name) const { return cache_.at(name).to_vector<float>(); }
  double of(HookPoint point, int layer) const { return dot(row(hook_name(point, layer)), direction_); }
  double bias() const { return bias_; }
  double logit() const { return logit_; }

  // The contribution of every input of a writer's linear; what its biases add goes to `bias`.
  std::vector<double> inputs_of(const StreamWriter& writer, const std::vector<float>& inputs, double& bias) const {
    std::vector<double> covector = direction_;
    for (double& x : covector) x *= writer.scale;
    const Tensor x = from_vector(inputs, {1, static_cast<int64_t>(inputs.size())});
    const std::vector<float> output = (*writer.linear)(x.to_device(writer.linear->weight.device())).to_vector<float>();
    FrozenNorm frozen = freeze(writer.norm, output, std::move(covector));
    bias += frozen.bias;
    if (writer.linear->bias.defined()) bias += dot(writer.linear->bias.to_vector<float>(), frozen.direction);
    std::vector<double> parts = pull_back(*writer.linear, frozen.direction);
    for (size_t i = 0; i < parts.size(); ++i) parts[i] *= inputs[i];
    return parts;
  }

 private:
  StreamReader reader_;
  ActivationCache cache_;
  std::vector<double> direction_;  // of the residual stream behind the last layer
  double bias_ = 0, logit_ = 0;
};

void add_heads(const Attributor& attributor, const InterpModel& model, int layer, Attribution& result, double& bias) {
  const StreamWriter writer = model.writer(layer, HookPoint::kAttnOut);
  const std::vector<float> z = attributor.row(hook_name(HookPoint::kAttnZ, layer));
  const std::vector<double> inputs = attributor.inputs_of(writer, z, bias);
  const size_t length = inputs.size() / static_cast<size_t>(writer.heads);
  for (int64_t head = 0; head < writer.heads; ++head) {
    double sum = 0;
    for (size_t i = 0; i < length; ++i) sum += inputs[static_cast<size_t>(head) * length + i];
    result.parts.push_back({Contribution::Part::kHead, layer, head, sum});
  }
}

}  // namespace

std::string to_string(const Contribution& contribution) {
  switch (contribution.part) {
    case Contribution::Part::kEmbed: return "embed";
    case Contribution::Part::kAttention: return cat("attn ", contribution.layer);
    case Contribution::Part::kMlp: return cat("mlp ", contribution.layer);
    case Contribution::Part::kHead: return cat("head ", contribution.layer, ".", contribution.index);
    case Contribution::Part::kNeuron: return cat("neuron ", contribution.layer, ".", contribution.index);
    case Contribution::Part::kBias: break;
  }
  return "bias";
}

double Attribution::sum() const {
  double sum = 0;
  for (const Contribution& part : parts) sum += part.value;
  return sum;
}

Attribution attribute_logit(const InterpModel& model, std::span<const int32_t> tokens, const AttributionTarget& target,
                            const AttributionOptions& options) {
  std::vector<std::string> points;
  if (options.by_head) points.push_back(hook_name(HookPoint::kAttnZ, HookSite::kEveryLayer));
  const Attributor attributor(model, tokens, target, options.hooks, std::move(points));
  Attribution result;
  result.logit = attributor.logit();
  double bias = attributor.bias();
  result.parts.push_back({Contribution::Part::kEmbed, -1, -1, attributor.of(HookPoint::kResidPre, 0)});
  for (int layer = 0; layer < model.facts().layers; ++layer) {
    const bool apart = options.by_head && attributor.has(HookPoint::kAttnZ, layer) &&
                       model.writer(layer, HookPoint::kAttnOut).heads > 0;
    if (apart) {
      add_heads(attributor, model, layer, result, bias);
    } else if (attributor.has(HookPoint::kAttnOut, layer)) {
      result.parts.push_back({Contribution::Part::kAttention, layer, -1, attributor.of(HookPoint::kAttnOut, layer)});
    }
    if (attributor.has(HookPoint::kMlpOut, layer)) {
      result.parts.push_back({Contribution::Part::kMlp, layer, -1, attributor.of(HookPoint::kMlpOut, layer)});
    }
  }
  result.parts.push_back({Contribution::Part::kBias, -1, -1, bias});
  return result;
}

std::vector<Contribution> attribute_neurons(const InterpModel& model, std::span<const int32_t> tokens,
                                            const AttributionTarget& target, int64_t top) {
  if (top < 1) throw Error(ErrorCode::kInvalidArgument, cat("the ", top, " strongest neurons are asked for"));
  const Attributor attributor(model, tokens, target, {}, {hook_name(HookPoint::kMlpPost, HookSite::kEveryLayer)});
  std::vector<Contribution> all;
  for (int layer = 0; layer < model.facts().layers; ++layer) {
    const StreamWriter writer = model.writer(layer, HookPoint::kMlpOut);
    if (!writer.linear || !attributor.has(HookPoint::kMlpPost, layer)) continue;
    double bias = 0;
    const std::vector<double> inputs =
        attributor.inputs_of(writer, attributor.row(hook_name(HookPoint::kMlpPost, layer)), bias);
    for (size_t i = 0; i < inputs.size(); ++i) {
      all.push_back({Contribution::Part::kNeuron, layer, static_cast<int64_t>(i), inputs[i]});
    }
  }
  if (all.empty()) {
    throw Error(ErrorCode::kUnsupported, cat("no layer of this ", model.facts().family, " has single neurons"));
  }
  const auto kept = std::min(all.size(), static_cast<size_t>(top));
  std::partial_sort(all.begin(), all.begin() + static_cast<int64_t>(kept), all.end(),
                    [](const Contribution& a, const Contribution& b) { return std::abs(a.value) > std::abs(b.value); });
  all.resize(kept);
  return all;
}

}  // namespace wick
