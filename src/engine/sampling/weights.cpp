#include "engine/sampling/weights.h"

#include <algorithm>
#include <cmath>

namespace wick::sampling {
namespace {

constexpr size_t kLanes = 16;  // written out side by side, so that sums and peaks vectorise

float block_peak(const float* x) {
  float lanes[kLanes];
  std::copy_n(x, kLanes, lanes);
  for (size_t i = kLanes; i < kBlock; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lanes[j] = x[i + j] > lanes[j] ? x[i + j] : lanes[j];
  }
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lanes[j] = lanes[j + half] > lanes[j] ? lanes[j + half] : lanes[j];
  }
  return lanes[0];
}

double block_weights(const float* x, float most, float temperature, float* out) {
  float weights[kBlock];
  for (size_t i = 0; i < kBlock; ++i) weights[i] = weight_below((most - x[i]) / temperature);
  double lanes[kLanes] = {};
  for (size_t i = 0; i < kBlock; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lanes[j] += static_cast<double>(weights[i + j]);
  }
  std::copy_n(weights, kBlock, out);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

bool is_usable(float x) { return x < std::numeric_limits<float>::infinity(); }

}  // namespace

size_t find_unusable(std::span<const float> logits) {
  size_t i = 0;
  for (; i + kBlock <= logits.size(); i += kBlock) {
    int32_t good = -1;
    for (size_t j = 0; j < kBlock; ++j) good &= is_usable(logits[i + j]) ? -1 : 0;
    if (good == 0) break;
  }
  while (i < logits.size() && is_usable(logits[i])) ++i;
  return i;
}

PeakedLogits find_peaks(std::span<const float> logits, std::vector<float>& memory) {
  const std::span<float> peaks = at_least(memory, count_blocks(logits.size()));
  const size_t whole = logits.size() / kBlock;
  for (size_t b = 0; b < whole; ++b) peaks[b] = block_peak(logits.data() + b * kBlock);
  if (whole < peaks.size()) peaks[whole] = *std::max_element(logits.begin() + whole * kBlock, logits.end());
  return {logits, peaks, peaks.empty() ? kForbidden : *std::max_element(peaks.begin(), peaks.end())};
}

int32_t PeakedLogits::first_peak() const {
  const auto block = static_cast<size_t>(std::find(peaks.begin(), peaks.end(), most) - peaks.begin());
  return static_cast<int32_t>(std::find(logits.begin() + block * kBlock, logits.end(), most) - logits.begin());
}

Weights make_weights(std::span<const float> logits, float most, float temperature, WeightMemory& memory) {
  const std::span<float> weights = at_least(memory.weights, logits.size());
  const std::span<double> sums = at_least(memory.sums, count_blocks(logits.size()));
  const size_t whole = logits.size() / kBlock;
  for (size_t b = 0; b < whole; ++b) {
    sums[b] = block_weights(logits.data() + b * kBlock, most, temperature, weights.data() + b * kBlock);
  }
  if (whole < sums.size()) sums[whole] = 0;
  for (size_t i = whole * kBlock; i < logits.size(); ++i) {
    weights[i] = weight_below((most - logits[i]) / temperature);
    sums[whole] += static_cast<double>(weights[i]);
  }
  double total = 0;
  for (const double sum : sums) total += sum;
  return {weights, sums, total};
}

size_t Weights::draw(double uniform) const {
  double left = std::min(uniform * total, std::nextafter(total, 0.0));  // rounding may give the whole
  size_t block = 0;
  while (block + 1 < sums.size() && !(left < sums[block])) left -= sums[block++];
  const size_t begin = block * kBlock, end = std::min(begin + kBlock, weights.size());
  size_t chosen = begin;
  for (size_t i = begin; i < end; ++i) {
    if (!(weights[i] > 0)) continue;
    chosen = i;
    left -= static_cast<double>(weights[i]);
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace wick::sampling
