#pragma once

#include <string_view>

namespace wick::graph {

// Tests of ONNX's own suite that Wick does not pass, and why. One that passes must go from here.
struct KnownFailure {
  std::string_view test, reason;
};
inline constexpr std::string_view kOtherNumbers = "expects the numbers that NumPy's generator drew";
inline constexpr std::string_view kLyingShape = "gives an input of another shape than its graph declares";
inline constexpr std::string_view kGradient = "Gradient, which is to be worked out from the graph, is not offered";
inline constexpr KnownFailure kKnownFailures[] = {
    {"test_adam_multiple", "was computed with an epsilon of 1e-2, which the node does not name"},
    {"test_bernoulli", kOtherNumbers},
    {"test_bernoulli_double", kOtherNumbers},
    {"test_bernoulli_double_expanded", kOtherNumbers},
    {"test_bernoulli_expanded", kOtherNumbers},
    {"test_bernoulli_seed", kOtherNumbers},
    {"test_bernoulli_seed_expanded", kOtherNumbers},
    {"test_cast_FLOAT_to_BFLOAT16", "expects bf16 that is cut off, not rounded to nearest"},
    {"test_castlike_BFLOAT16_to_FLOAT", kLyingShape},
    {"test_castlike_BFLOAT16_to_FLOAT_expanded", kLyingShape},
    {"test_castlike_FLOAT_to_BFLOAT16", kLyingShape},
    {"test_castlike_FLOAT_to_BFLOAT16_expanded", kLyingShape},
    {"test_gradient_of_add", kGradient},
    {"test_gradient_of_add_and_mul", kGradient},
    {"test_training_dropout", kOtherNumbers},
    {"test_training_dropout_default", kOtherNumbers},
    {"test_training_dropout_default_mask", kOtherNumbers},
    {"test_training_dropout_mask", kOtherNumbers},
};

}  // namespace wick::graph
