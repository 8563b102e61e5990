#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "ops/layers/token_draw.h"

namespace wick::sampling {

constexpr float kForbidden = -std::numeric_limits<float>::infinity();
constexpr size_t kBlock = 64;  // tokens that share a peak and a sum

inline size_t count_blocks(size_t count) { return (count + kBlock - 1) / kBlock; }

// Memory that a sampler works in, one per thread: a steady loop allocates nothing, and many sequences share one cache.
template <typename T>
std::span<T> at_least(std::vector<T>& memory, size_t count) {
  if (memory.size() < count) memory.resize(count);
  return {memory.data(), count};
}

// Logits and the peak of each block of them: a search skips the blocks that lie below what it looks for.
struct PeakedLogits {
  std::span<const float> logits;
  std::span<const float> peaks;  // one per block
  float most = kForbidden;

  int32_t first_peak() const;  // the first token whose logit is `most`
};

// The index of the first NaN or +inf; the count when there is none.
size_t find_unusable(std::span<const float> logits);
PeakedLogits find_peaks(std::span<const float> logits, std::vector<float>& memory);

// What a draw is made from: weight i = e^((logit i - most) / temperature), as weight_below() has it.
struct Weights {
  std::span<const float> weights;
  std::span<const double> sums;  // one per block
  double total = 0;

  // The index whose share of [0, 1) holds `uniform`. Never one of weight 0.
  size_t draw(double uniform) const;
};

struct WeightMemory {
  std::vector<float> weights;
  std::vector<double> sums;
};

Weights make_weights(std::span<const float> logits, float most, float temperature, WeightMemory& memory);

}  // namespace wick::sampling
