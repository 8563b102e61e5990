#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "tensor/create.h"

namespace wick {

// Reproducible weights of the kinds that models have: bell-shaped, and with heavier tails.
inline std::vector<float> normal_weights(int64_t count, uint64_t seed) {
  return randn({count}, seed).to_vector<float>();
}

// Student's t with 3 degrees of freedom: a few weights are far larger than the rest.
inline std::vector<float> student_weights(int64_t count, uint64_t seed) {
  const std::vector<float> n = randn({4 * count}, seed).to_vector<float>();
  std::vector<float> weights(static_cast<size_t>(count));
  for (size_t i = 0; i < weights.size(); ++i) {
    const float* v = n.data() + 4 * i;
    weights[i] = v[0] / std::sqrt((v[1] * v[1] + v[2] * v[2] + v[3] * v[3]) / 3);
  }
  return weights;
}

inline std::vector<float> laplace_weights(int64_t count, uint64_t seed) {
  std::vector<float> weights = rand({count}, seed).to_vector<float>();
  for (float& weight : weights) {
    const float u = weight - 0.5f;
    weight = std::copysign(std::log(1 - 2 * std::abs(u) + 1e-7f), u);
  }
  return weights;
}

// Mean squares of activations: all positive, a few columns matter far more than the rest.
inline std::vector<float> sample_importance(int64_t columns, uint64_t seed) {
  std::vector<float> importance = randn({columns}, seed).to_vector<float>();
  for (float& value : importance) value = std::exp(value);
  return importance;
}

}  // namespace wick
