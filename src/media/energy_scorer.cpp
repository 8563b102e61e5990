#include "media/energy_scorer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wick {
namespace {

constexpr float kRumbleFilter = 0.96f;  // 3 dB down at 100 Hz
constexpr size_t kSmoothed = 3, kRemembered = 300, kSteadyWindows = 50, kFirstSteadyWindows = 20;
constexpr double kSteadyRange = 6;               // dB
constexpr double kAssumedFloor = -45;            // dB, until there is a history
constexpr double kLowestFloor = -75;             // dB: nobody speaks below -66
constexpr double kMiddle = 9, kWholeRange = 12;  // dB above the floor

}  // namespace

double EnergyScorer::level_of(std::span<const float> samples) {
  double energy = 0;
  for (const float sample : samples) {
    last_out_ = kRumbleFilter * (last_out_ + sample - last_in_);
    last_in_ = sample;
    energy += double{last_out_} * last_out_;
  }
  energies_.push_back(energy / static_cast<double>(samples.size()));
  if (energies_.size() > kSmoothed) energies_.pop_front();
  const double mean = std::accumulate(energies_.begin(), energies_.end(), 0.0) / static_cast<double>(energies_.size());
  return 10 * std::log10(std::max(mean, 1e-10));
}

// Forgets what was before sound that keeps its level.
void EnergyScorer::follow_steady_sound() {
  const size_t count = windows_ == static_cast<int64_t>(kFirstSteadyWindows) ? kFirstSteadyWindows : kSteadyWindows;
  if (levels_.size() < count) return;
  const auto first = levels_.end() - static_cast<std::ptrdiff_t>(count);
  const auto [least, most] = std::minmax_element(first, levels_.end());
  if (*most - *least > kSteadyRange) return;
  levels_.erase(levels_.begin(), first);
  knows_noise_ = true;
}

float EnergyScorer::score(std::span<const float> samples) {
  const double level = level_of(samples);
  ++windows_;
  levels_.push_back(level);
  if (levels_.size() > kRemembered) {
    levels_.pop_front();
    knows_noise_ = true;
  }
  follow_steady_sound();
  double floor = *std::min_element(levels_.begin(), levels_.end());
  if (!knows_noise_) floor = std::min(floor, kAssumedFloor);
  floor = std::max(floor, kLowestFloor);
  return static_cast<float>(std::clamp(0.5 + (level - floor - kMiddle) / kWholeRange, 0.0, 1.0));
}

}  // namespace wick
