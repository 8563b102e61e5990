#include "formats/quantize/quantize_plan.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "formats/tensor_role.h"

namespace wick {
namespace {

using enum DType;
using enum TensorRole;

enum class Mix : uint8_t {
  kAuto,
  kNone,
  kFloat,  // one element dtype
  kPlain,  // one packed type, output apart
  kPure,   // one packed type
  kMxfp4,
  kQ2K,
  kQ3KM,
  kQ3KL,
  kQ4KS,
  kQ4KM,
  kQ5KM,
  kIQ4,
};

struct NamedPlan {
  std::string_view name;
  Mix mix;
  DType base;
  int file_type;  // GGUF's general.file_type
};
constexpr NamedPlan kPlans[] = {
    {"auto", Mix::kAuto, kF32, -1},     {"none", Mix::kNone, kF32, -1},     {"f32", Mix::kFloat, kF32, 0},
    {"f16", Mix::kFloat, kF16, 1},      {"bf16", Mix::kFloat, kBF16, 32},   {"int8", Mix::kPure, kI8Channel, -1},
    {"int4", Mix::kPlain, kQ4_0, 2},    {"q8_0", Mix::kPlain, kQ8_0, 7},    {"q4_0", Mix::kPlain, kQ4_0, 2},
    {"q4_1", Mix::kPlain, kQ4_1, 3},    {"q5_0", Mix::kPlain, kQ5_0, 8},    {"q5_1", Mix::kPlain, kQ5_1, 9},
    {"q2_k", Mix::kQ2K, kQ2_K, 10},     {"q3_k_s", Mix::kPlain, kQ3_K, 11}, {"q3_k_m", Mix::kQ3KM, kQ3_K, 12},
    {"q3_k_l", Mix::kQ3KL, kQ3_K, 13},  {"q4_k_s", Mix::kQ4KS, kQ4_K, 14},  {"q4_k_m", Mix::kQ4KM, kQ4_K, 15},
    {"q5_k_s", Mix::kPlain, kQ5_K, 16}, {"q5_k_m", Mix::kQ5KM, kQ5_K, 17},  {"q6_k", Mix::kPlain, kQ6_K, 18},
    {"iq4_nl", Mix::kIQ4, kIQ4_NL, 25}, {"iq4_xs", Mix::kIQ4, kIQ4_XS, 30}, {"mxfp4", Mix::kMxfp4, kMXFP4, 38},
};

// When a line of the table below applies to the i-th of n tensors of its role.
enum class When : uint8_t {
  kAlways,
  kFirst2,
  kFirst4,
  kFirstSixteenth,
  kFirstEighth,
  kEdgesAndThirds,    // the first and last eighth, and every third layer between
  kSharedKeys,        // four or more query heads per key head
  kFirstEighthBlind,  // the first eighth, without an importance matrix
};

struct MixRule {
  Mix mix;
  TensorRole role;
  When when;
  DType type;
};
// The first line that applies decides; no line: the base type.
constexpr MixRule kRules[] = {
    {Mix::kQ2K, kValue, When::kSharedKeys, kQ4_K},
    {Mix::kQ2K, kValue, When::kAlways, kQ3_K},
    {Mix::kQ2K, kDown, When::kAlways, kQ3_K},
    {Mix::kQ2K, kAttentionOutput, When::kAlways, kQ3_K},
    {Mix::kQ3KM, kValue, When::kFirst2, kQ5_K},
    {Mix::kQ3KM, kValue, When::kAlways, kQ4_K},
    {Mix::kQ3KM, kDown, When::kFirstSixteenth, kQ5_K},
    {Mix::kQ3KM, kDown, When::kAlways, kQ4_K},
    {Mix::kQ3KM, kAttentionOutput, When::kAlways, kQ4_K},
    {Mix::kQ3KL, kValue, When::kAlways, kQ5_K},
    {Mix::kQ3KL, kDown, When::kAlways, kQ5_K},
    {Mix::kQ3KL, kAttentionOutput, When::kAlways, kQ5_K},
    {Mix::kQ4KS, kValue, When::kFirst4, kQ5_K},
    {Mix::kQ4KS, kDown, When::kFirstEighth, kQ5_K},
    {Mix::kQ4KM, kValue, When::kEdgesAndThirds, kQ6_K},
    {Mix::kQ4KM, kDown, When::kEdgesAndThirds, kQ6_K},
    {Mix::kQ5KM, kValue, When::kEdgesAndThirds, kQ6_K},
    {Mix::kQ5KM, kDown, When::kEdgesAndThirds, kQ6_K},
    {Mix::kIQ4, kValue, When::kSharedKeys, kQ5_K},
    {Mix::kIQ4, kDown, When::kFirstEighthBlind, kQ5_K},
};

// Falcon's way down takes less well to few bits at the edges only, so its lines differ.
constexpr MixRule kFalconRules[] = {
    {Mix::kQ3KM, kDown, When::kFirstSixteenth, kQ5_K},
    {Mix::kQ3KM, kDown, When::kEdgesAndThirds, kQ4_K},
    {Mix::kQ3KM, kDown, When::kAlways, kQ3_K},
    {Mix::kQ3KL, kDown, When::kAlways, kQ4_K},
    {Mix::kQ3KL, kAttentionOutput, When::kAlways, kQ4_K},
    {Mix::kQ4KM, kDown, When::kFirstSixteenth, kQ6_K},
    {Mix::kQ4KM, kDown, When::kEdgesAndThirds, kQ5_K},
    {Mix::kQ4KM, kDown, When::kAlways, kQ4_K},
    {Mix::kQ4KS, kDown, When::kAlways, kQ4_K},
    {Mix::kQ2K, kAttentionOutput, When::kAlways, kQ2_K},
    {Mix::kQ3KM, kAttentionOutput, When::kAlways, kQ3_K},
};

bool applies(When when, int64_t i, int64_t n, const PlanFacts& facts) {
  switch (when) {
    case When::kAlways: return true;
    case When::kFirst2: return i < 2;
    case When::kFirst4: return i < 4;
    case When::kFirstSixteenth: return i < n / 16;
    case When::kFirstEighth: return i < n / 8;
    case When::kEdgesAndThirds: return i < n / 8 || i >= 7 * n / 8 || (i - n / 8) % 3 == 2;
    case When::kSharedKeys: return facts.kv_heads > 0 && facts.heads / facts.kv_heads >= 4;
    case When::kFirstEighthBlind: return i < n / 8 && !facts.has_importance;
  }
  return false;
}

DType mixed(const NamedPlan& plan, TensorRole role, int64_t i, int64_t n, const PlanFacts& facts) {
  if (facts.architecture == "falcon") {
    for (const MixRule& rule : kFalconRules) {
      if (rule.mix == plan.mix && rule.role == role && applies(rule.when, i, n, facts)) return rule.type;
    }
  }
  DType type = plan.base;
  for (const MixRule& rule : kRules) {
    if (rule.mix == plan.mix && rule.role == role && applies(rule.when, i, n, facts)) {
      type = rule.type;
      break;
    }
  }
  // Llama 70B and its like: eight heads share a value, so its matrix is small and worth the bits.
  const bool large = facts.layers == 80 && facts.heads != facts.kv_heads &&
                     (facts.architecture == "llama" || facts.architecture == "qwen2");
  if (role == kValue && large && (type == kQ3_K || type == kQ4_K)) type = kQ5_K;
  // Eight experts: attention is a small part of the model.
  if (facts.experts == 8) {
    if (role == kValue || role == kKey) type = kQ8_0;
    const bool small = plan.base == kQ2_K || plan.base == kQ3_K || plan.base == kQ4_K || plan.mix == Mix::kIQ4;
    if (role == kAttentionOutput) type = small && plan.mix != Mix::kQ3KL ? kQ5_K : plan.base;
  }
  // An importance matrix can mislead the smallest types in the first layers on the way down.
  if (role == kDown && facts.has_importance && i < n / 8 && plan.mix == Mix::kPlain) {
    if (plan.base == kQ4_0) type = kQ4_1;
    if (plan.base == kQ5_0) type = kQ5_1;
  }
  return type;
}

// Types of 256 weights per block and what stands in where rows have only multiples of 32.
constexpr std::pair<DType, DType> kSmallerBlocks[] = {
    {kQ2_K, kQ4_0}, {kQ3_K, kQ4_0},     {kQ4_K, kQ5_0},      {kQ5_K, kQ5_1},
    {kQ6_K, kQ8_0}, {kIQ4_XS, kIQ4_NL}, {kI8Channel, kQ8_0},
};

DType fitting(DType type, int64_t columns) {
  if (columns % block_weights(type) == 0) return type;
  for (const auto& [large, small] : kSmallerBlocks) {
    if (type == large && columns % block_weights(small) == 0) return small;
  }
  return kF16;
}

DType output_type(const NamedPlan& plan, int64_t columns, const PlanFacts& facts) {
  if (plan.mix == Mix::kPure || plan.base == kQ8_0) return plan.base;
  if (plan.mix == Mix::kMxfp4 || facts.architecture == "falcon" || columns % block_weights(plan.base) != 0)
    return kQ8_0;
  return kQ6_K;
}

}  // namespace

QuantizePlan QuantizePlan::named(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < std::size(kPlans); ++i) {
    if (kPlans[i].name == name) return {kPlans[i].name, static_cast<int>(i), kPlans[i].file_type};
    known += cat(i ? ", " : "", kPlans[i].name);
  }
  throw Error(ErrorCode::kInvalidArgument, cat("there is no quantisation '", name, "'; there are ", known));
}

std::vector<std::string_view> QuantizePlan::names() {
  std::vector<std::string_view> names;
  for (const NamedPlan& plan : kPlans) names.push_back(plan.name);
  return names;
}

DType QuantizePlan::type_for(const PlannedTensor& tensor, const PlanFacts& facts, bool tied, Place place) const {
  const NamedPlan& plan = kPlans[row_];
  const TensorRole role = tensor_role(tensor.name, tensor.shape);
  const int64_t columns = tensor.shape.rank() ? tensor.shape.back() : 1;
  if (role == kKeep) return facts.kept_in_f32 && is_float(tensor.dtype) ? kF32 : tensor.dtype;
  if (plan.mix == Mix::kAuto) return tensor.dtype;
  if (plan.mix == Mix::kNone) return is_packed(tensor.dtype) ? kF16 : tensor.dtype;
  if (plan.mix == Mix::kFloat) return plan.base;
  if (role == kOutput || (tied && role == kEmbedding)) return fitting(output_type(plan, columns, facts), columns);
  if (plan.mix == Mix::kMxfp4) return fitting(is_expert(tensor.name) ? kMXFP4 : kQ8_0, columns);
  return fitting(mixed(plan, role, place.i, place.n, facts), columns);
}

DType QuantizePlan::choose_one(const PlannedTensor& tensor, const PlanFacts& facts, bool tied) const {
  return type_for(tensor, facts, tied, {layer_of(tensor.name).value_or(0), facts.layers});
}

std::vector<DType> QuantizePlan::choose(std::span<const PlannedTensor> tensors, const PlanFacts& facts) const {
  std::vector<int64_t> value_layers;  // not every layer has attention: values count among themselves
  bool tied = true;
  for (const PlannedTensor& tensor : tensors) {
    const TensorRole role = tensor_role(tensor.name, tensor.shape);
    if (role == kOutput) tied = false;
    if (role == kValue) value_layers.push_back(layer_of(tensor.name).value_or(0));
  }
  std::sort(value_layers.begin(), value_layers.end());

  std::vector<DType> types;
  for (const PlannedTensor& tensor : tensors) {
    const int64_t layer = layer_of(tensor.name).value_or(0);
    Place place{layer, facts.layers};
    if (tensor_role(tensor.name, tensor.shape) == kValue) {
      place.i = std::lower_bound(value_layers.begin(), value_layers.end(), layer) - value_layers.begin();
      place.n = static_cast<int64_t>(value_layers.size());
    }
    types.push_back(type_for(tensor, facts, tied, place));
  }
  return types;
}

}  // namespace wick
