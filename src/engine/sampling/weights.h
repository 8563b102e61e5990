#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

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

// e^-x for 0 <= x <= 80, within 2 units of the last place. Plain arithmetic that compilers turn into vectors, so that
// it gives the same bits on every machine. 2^n is added to the exponent, r is what is left of -x.
constexpr float exp_bounded(float x) {
  constexpr float kRound = 12582912;  // 1.5 * 2^23: the last bits of a sum with it are the nearest integer
  const float shifted = kRound - x * 1.44269504f;
  const float n = shifted - kRound;
  const float r = n * 2.12194440e-4f - (n * 0.693359375f + x);
  float y = 1.9875691500e-4f;
  y = y * r + 1.3981999507e-3f;
  y = y * r + 8.3334519073e-3f;
  y = y * r + 4.1665795894e-2f;
  y = y * r + 1.6666665459e-1f;
  y = y * r + 5.0000001201e-1f;
  y = y * (r * r) + r + 1.0f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(y) + (std::bit_cast<uint32_t>(shifted) << 23));
}

// e^-x for x >= 0, exactly 0 from 80 on: e^-80 is taken off, which is lost in rounding below 60. Numbers that are not
// negative have the order of their bits; GCC vectorises the minimum of integers, but not that of floats.
constexpr float exp_minus(float x) {
  constexpr float kMost = 80, kLeast = exp_bounded(kMost);
  const int32_t bits = std::min(std::bit_cast<int32_t>(x), std::bit_cast<int32_t>(kMost));
  return exp_bounded(std::bit_cast<float>(bits)) - kLeast;
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

// What a draw is made from: weight i = e^((logit i - most) / temperature).
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
