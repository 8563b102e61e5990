// Parts of a logit add up to it, and are what taking them away would take.
#include "interp/attribution.h"

#include <gtest/gtest.h>

#include "formats/quantize/quantize_plan.h"
#include "interp/run_with_cache.h"
#include "ops/ops.h"
#include "support/errors.h"
#include "support/interp_models.h"

namespace wick {
namespace {

class AttributionFamilyTest : public testing::TestWithParam<std::string> {
 protected:
  AttributionFamilyTest() : model_(interp_of(GetParam())), tokens_(some_tokens(14, 6)) {}

  // A logit as the model gives it, before its soft cap.
  double logit(int32_t token, int64_t position) const {
    const double value = model_.run(tokens_).to_vector<float>()[static_cast<size_t>(position * 192 + token)];
    const float cap = model_.reader().soft_cap;
    return cap > 0 ? std::atanh(value / cap) * cap : value;
  }

  LanguageInterp model_;
  std::vector<int32_t> tokens_;
};

TEST_P(AttributionFamilyTest, PartsAddUpToTheLogit) {
  for (const int64_t position : {0, 6, 13}) {
    for (const bool by_head : {false, true}) {
      AttributionOptions options;
      options.by_head = by_head;
      const Attribution one = attribute_logit(model_, tokens_, {17, -1, position}, options);
      EXPECT_NEAR(one.logit, logit(17, position), 1e-4);
      EXPECT_NEAR(one.sum(), one.logit, 2e-4) << "by head: " << by_head;
      const Attribution two = attribute_logit(model_, tokens_, {17, 90, position - 14}, options);
      EXPECT_NEAR(two.logit, logit(17, position) - logit(90, position), 2e-4);
      EXPECT_NEAR(two.sum(), two.logit, 2e-4);
    }
  }
}

TEST_P(AttributionFamilyTest, HeadsAddUpToTheirLayer) {
  AttributionOptions options;
  options.by_head = true;
  const Attribution layers = attribute_logit(model_, tokens_, {17}),
                    heads = attribute_logit(model_, tokens_, {17}, options);
  std::vector<double> by_layer(static_cast<size_t>(model_.facts().layers)), from_heads(by_layer);
  double biases = 0;
  for (const Contribution& part : layers.parts) {
    if (part.part == Contribution::Part::kAttention) by_layer[static_cast<size_t>(part.layer)] = part.value;
    if (part.part == Contribution::Part::kBias) biases -= part.value;
  }
  size_t count = 0;
  for (const Contribution& part : heads.parts) {
    if (part.part == Contribution::Part::kBias) biases += part.value;
    if (part.part == Contribution::Part::kAttention) from_heads[static_cast<size_t>(part.layer)] = part.value;
    if (part.part != Contribution::Part::kHead) continue;
    from_heads[static_cast<size_t>(part.layer)] += part.value;
    EXPECT_EQ(part.index, static_cast<int64_t>(count++) % model_.facts().heads);
  }
  EXPECT_EQ(count, model_.facts().attention_layers.size() * static_cast<size_t>(model_.facts().heads));
  double missing = 0;
  for (size_t i = 0; i < by_layer.size(); ++i) missing += by_layer[i] - from_heads[i];
  EXPECT_NEAR(missing, biases, 2e-4);  // what heads lack are the biases of their output products
}

TEST_P(AttributionFamilyTest, NeuronsAddUpToTheirLayer) {
  const int64_t all = 1 << 20;
  if (!model_.writer(0, HookPoint::kMlpOut).linear && !model_.writer(1, HookPoint::kMlpOut).linear) {
    EXPECT_ERROR(attribute_neurons(model_, tokens_, {17}, all), kUnsupported, "has single neurons");
    return;
  }
  const std::vector<Contribution> neurons = attribute_neurons(model_, tokens_, {17}, all);
  const std::vector<Contribution> top = attribute_neurons(model_, tokens_, {17}, 7);
  ASSERT_EQ(top.size(), 7u);
  for (size_t i = 0; i < top.size(); ++i) EXPECT_EQ(top[i].value, neurons[i].value);
  for (size_t i = 1; i < neurons.size(); ++i) ASSERT_GE(std::abs(neurons[i - 1].value), std::abs(neurons[i].value));
  for (const Contribution& part : attribute_logit(model_, tokens_, {17}).parts) {
    const bool has_bias = part.layer >= 0 && model_.writer(part.layer, HookPoint::kMlpOut).linear &&
                          model_.writer(part.layer, HookPoint::kMlpOut).linear->bias.defined();
    if (part.part != Contribution::Part::kMlp || has_bias) continue;
    double sum = 0;
    for (const Contribution& neuron : neurons) sum += neuron.layer == part.layer ? neuron.value : 0;
    EXPECT_NEAR(sum, part.value, 2e-4) << to_string(part);
  }
}

INSTANTIATE_TEST_SUITE_P(All, AttributionFamilyTest, testing::ValuesIn(interp_families()),
                         [](const auto& test) { return test_name(test.param); });

TEST(AttributionTest, PackedWeightsAddUpToo) {
  ModelOptions options;
  options.quantize = "q8_0";
  const LanguageInterp model(load_model(WeightSource(Checkpoint::open(family_folder("qwen3"))), options));
  const std::vector<int32_t> tokens = some_tokens(9, 3);
  AttributionOptions by_head;
  by_head.by_head = true;
  const Attribution parts = attribute_logit(model, tokens, {4}), heads = attribute_logit(model, tokens, {4}, by_head);
  const double logit = model.run(tokens, {}, LogitRows::kLast).to_vector<float>()[4];
  EXPECT_NEAR(parts.logit, logit, 0.05);  // products round their inputs to 8 bits
  EXPECT_NEAR(parts.sum(), parts.logit, 1e-3);
  EXPECT_NEAR(heads.sum(), heads.logit, 0.05);
}

TEST(AttributionTest, EditedRunsAreAttributedAsTheyRan) {
  const LanguageInterp model = interp_of("llama");
  const std::vector<int32_t> tokens = some_tokens(9, 3);
  AttributionOptions options;
  options.hooks.zero("blocks.1.hook_mlp_out");
  const Attribution parts = attribute_logit(model, tokens, {4}, options);
  for (const Contribution& part : parts.parts) {
    if (part.part == Contribution::Part::kMlp && part.layer == 1) {
      EXPECT_EQ(part.value, 0);
    }
  }
  EXPECT_NEAR(parts.sum(), model.run(tokens, options.hooks, LogitRows::kLast).to_vector<float>()[4], 1e-4);
}

TEST(AttributionTest, MistakesGetASentence) {
  const LanguageInterp model = interp_of("llama");
  const std::vector<int32_t> tokens = some_tokens(5, 3);
  EXPECT_ERROR(attribute_logit(model, tokens, {192}), kInvalidArgument, "token 192 is outside");
  EXPECT_ERROR(attribute_logit(model, tokens, {1, 400}), kInvalidArgument, "token 400 is outside");
  EXPECT_ERROR(attribute_logit(model, tokens, {1, -1, 5}), kInvalidArgument, "position 5 is asked for");
  EXPECT_ERROR(attribute_neurons(model, tokens, {1}, 0), kInvalidArgument, "the 0 strongest neurons");
  EXPECT_ERROR(model.writer(2, HookPoint::kMlpOut), kInvalidArgument, "layer 2 is asked for");
}

}  // namespace
}  // namespace wick
