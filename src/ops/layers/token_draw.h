#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

// How a token is drawn from logits, in arithmetic that gives the same bits on the host and on every device.
namespace wick {

// Keeps the top_k highest logits, of those the most likely whose probabilities first add up to top_p, and of those
// what lies no more than -log_min_p below the highest; then draws one at a temperature.
struct TokenDraw {
  double uniform = 0;     // of [0, 1): decides
  float temperature = 0;  // 0 or less: the highest logit, of equal ones the first
  float top_p = 1;
  float log_min_p = -std::numeric_limits<float>::infinity();
  int32_t top_k = 0;       // 0: all
  int32_t mask = -1;       // which of TokenDraws::masks says what may come; -1: everything may
  bool needs_row = false;  // somebody needs the logits themselves: nothing is drawn

  bool operator==(const TokenDraw&) const = default;
};

// What happens to one logit before.
struct LogitEdit {
  int32_t row = 0, token = 0;
  float bias = 0;        // is added; -inf forbids the token
  float repetition = 1;  // divides a logit, or multiplies it if it is below 0
  float minus = 0;       // is taken off
};
constexpr float edited(float logit, const LogitEdit& edit) {
  logit += edit.bias;
  if (logit == -std::numeric_limits<float>::infinity()) return logit;
  return (logit < 0 ? logit * edit.repetition : logit / edit.repetition) - edit.minus;
}
// In rounds, one after the other; in each of them a token of a row comes once.
using LogitEdits = std::array<std::vector<LogitEdit>, 3>;

// For all rows of some logits.
struct TokenDraws {
  std::vector<TokenDraw> rows;
  LogitEdits edits;
  std::vector<uint32_t> masks;  // mask_words() each: bit i of word i/32 is set for a token that may come

  static constexpr int64_t mask_words(int64_t vocabulary) { return (vocabulary + 31) / 32; }
  void clear() {
    rows.clear();
    for (auto& round : edits) round.clear();
    masks.clear();
  }
};

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

// The weight of a token whose logit lies x >= 0 below the highest: e^-x as a multiple of 2^-35. Up to 2^18 of them add
// up exactly in a double, so that no sum depends on its order. Numbers that are not negative have the order of their
// bits; GCC vectorises the minimum of integers, but not that of floats.
inline constexpr int kWeightBits = 35;
inline constexpr int64_t kMostExactWeights = int64_t{1} << 18;
constexpr float weight_below(float x) {
  constexpr float kMost = 80;
  constexpr float kRound = 0x1.8p-12f;  // the last bit of a sum with it is 2^-35, or more where the weight has no finer
  const int32_t bits = std::min(std::bit_cast<int32_t>(x), std::bit_cast<int32_t>(kMost));
  return (exp_bounded(std::bit_cast<float>(bits)) + kRound) - kRound;
}

// A number that is smaller for a higher logit, and a key that puts the index behind it: higher logits first, then lower
// indices. No two keys are equal.
constexpr uint32_t descending(float logit) {
  const auto bits = std::bit_cast<uint32_t>(logit + 0.0f);  // -0 becomes 0
  return bits >> 31 ? bits : ~bits & 0x7FFFFFFFu;
}
constexpr uint64_t order_key(uint32_t rank, uint64_t index) { return uint64_t{rank} << 32 | index; }

}  // namespace wick
