#include "nn/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/thread_pool.h"
#include "ops/layers/rope.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// Long waves are stretched by the factor, short ones stay, those between are mixed.
void scale_llama3(const RopeConfig& config, std::vector<double>& frequencies) {
  const auto trained = static_cast<double>(config.original_positions);
  for (double& frequency : frequencies) {
    const double wave = kTurn / frequency;
    if (wave < trained / config.high_freq_factor) continue;
    if (wave > trained / config.low_freq_factor) {
      frequency /= config.factor;
    } else {
      const double mix = (trained / wave - config.low_freq_factor) / (config.high_freq_factor - config.low_freq_factor);
      frequency = (1 - mix) * frequency / config.factor + mix * frequency;
    }
  }
}

// The pair whose wave turns `turns` times within the trained context.
double yarn_border(const RopeConfig& config, double turns) {
  return static_cast<double>(config.dim) * std::log(static_cast<double>(config.original_positions) / (turns * kTurn)) /
         (2 * std::log(config.theta));
}

void scale_yarn(const RopeConfig& config, std::vector<double>& frequencies) {
  double low = yarn_border(config, config.beta_fast), high = yarn_border(config, config.beta_slow);
  if (config.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.dim - 1));
  if (low == high) high += 0.001;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double stretched = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    frequencies[i] = frequencies[i] / config.factor * stretched + frequencies[i] * (1 - stretched);
  }
}

double yarn_magnitude(double factor, double scale) { return factor <= 1 ? 1 : 0.1 * scale * std::log(factor) + 1; }

double magnitude_of(const RopeConfig& config) {
  if (config.kind != RopeKind::kYarn && config.kind != RopeKind::kLongRope) return 1;
  if (config.attention_factor) return *config.attention_factor;
  if (config.kind == RopeKind::kLongRope) {
    if (config.factor <= 1 || config.original_positions <= 1) return 1;
    return std::sqrt(1 + std::log(config.factor) / std::log(static_cast<double>(config.original_positions)));
  }
  if (config.mscale && config.mscale_all_dim) {
    return yarn_magnitude(config.factor, *config.mscale) / yarn_magnitude(config.factor, *config.mscale_all_dim);
  }
  return yarn_magnitude(config.factor, 1);
}

double theta_for(const RopeConfig& config, int64_t context) {
  if (config.kind != RopeKind::kDynamic || config.dim <= 2 || context <= config.max_positions) return config.theta;
  const double growth =
      config.factor * static_cast<double>(context) / static_cast<double>(config.max_positions) - (config.factor - 1);
  return config.theta * std::pow(growth, static_cast<double>(config.dim) / static_cast<double>(config.dim - 2));
}

// The axis by which each pair turns.
std::vector<uint8_t> axes_of(const RopeConfig& config) {
  std::vector<uint8_t> axes(static_cast<size_t>(config.dim / 2), 0);
  if (config.axes.empty()) return axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto pair = static_cast<int64_t>(i);
    if (config.axes_interleaved) {
      const size_t axis = i % 3;
      if (axis > 0 && pair < 3 * config.axes[axis]) axes[i] = static_cast<uint8_t>(axis);
    } else {
      axes[i] = pair < config.axes[0] ? 0 : pair < config.axes[0] + config.axes[1] ? 1 : 2;
    }
  }
  return axes;
}

}  // namespace

Tensor rotate_heads(const Tensor& heads, const RopeRows& rows, bool interleaved) {
  return transpose(rope(transpose(heads, 0, 1).contiguous(), rows.cos, rows.sin, interleaved), 0, 1).contiguous();
}

RopeTable::RopeTable(const RopeConfig& config, int64_t context)
    : axes_(axes_of(config)), magnitude_(magnitude_of(config)), interleaved_(config.interleaved) {
  const double theta = theta_for(config, context);
  for (int64_t i = 0; i < config.dim / 2; ++i) {
    frequencies_.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(config.dim)));
  }
  const auto turned = static_cast<size_t>(config.turned_pairs);
  for (size_t i = turned; config.kind == RopeKind::kProportional && i < frequencies_.size(); ++i) frequencies_[i] = 0;
  if (config.kind == RopeKind::kLinear || config.kind == RopeKind::kProportional) {
    for (double& frequency : frequencies_) frequency /= config.factor;
  }
  if (config.kind == RopeKind::kLlama3) scale_llama3(config, frequencies_);
  if (config.kind == RopeKind::kYarn) scale_yarn(config, frequencies_);
  if (config.kind == RopeKind::kLongRope) {
    const auto& factors = context > config.original_positions ? config.long_factor : config.short_factor;
    for (size_t i = 0; i < frequencies_.size(); ++i) frequencies_[i] /= factors[i];
  }
  if (config.backwards) {
    for (double& frequency : frequencies_) frequency = -frequency;
  }
}

template <typename Place>
RopeRows RopeTable::rows_at(int64_t count, const Place& place) const {
  const int64_t half = pairs();
  RopeRows rows{empty({count, half}), empty({count, half})};
  float* cos = rows.cos.mutable_data<float>();
  float* sin = rows.sin.mutable_data<float>();
  parallel_for(count, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t i = 0; i < half; ++i) {
        const double angle = static_cast<double>(place(static_cast<size_t>(row), static_cast<size_t>(i))) *
                             frequencies_[static_cast<size_t>(i)];
        cos[row * half + i] = static_cast<float>(std::cos(angle) * magnitude_);
        sin[row * half + i] = static_cast<float>(std::sin(angle) * magnitude_);
      }
    }
  });
  return rows;
}

RopeRows RopeTable::rows(std::span<const int64_t> positions) const {
  return rows_at(std::ssize(positions), [&](size_t row, size_t) { return positions[row]; });
}

RopeRows RopeTable::rows(std::span<const RopePosition> positions) const {
  return rows_at(std::ssize(positions), [&](size_t row, size_t pair) { return positions[row][axes_[pair]]; });
}

}  // namespace wick
