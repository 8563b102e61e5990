#pragma once

#include <cmath>
#include <limits>
#include <utility>

#include "quant/blocks.h"
#include "quant/lanes.h"

// The search all encoders share. Given a scale, rounding gives the best numbers; given the numbers, least squares gives
// the best scale. Neither alone finds the best pair, so a search starts from a row of scales and alternates.
namespace wick {

// Integers from low to high.
struct IntegerLevels {
  float low, high;
  Lanes nearest(Lanes value) const { return round_lanes(max_lanes(min_lanes(value, broadcast(high)), broadcast(low))); }
};

// Sums over r = x - scale * q, q the nearest level to x / scale: of w r^2, w r q and w q^2.
struct ScaleSums {
  float rr, rq, qq;
  // By how much to change the scale for the least error with these q, and that error.
  float correction() const { return qq > 0 ? rq / qq : 0.0f; }
  float error() const { return rr - correction() * rq; }
};

template <int kSize, typename Levels>
ScaleSums sum_residuals(const float* x, const float* w, float scale, const Levels& levels) {
  const Lanes step = broadcast(scale);
  const Lanes inverse = broadcast(inverse_or_zero(scale));
  Lanes rr = {}, rq = {}, qq = {};
  for (int i = 0; i < kSize; i += 4) {
    const Lanes value = load_lanes(x + i);
    const Lanes q = levels.nearest(value * inverse);
    const Lanes r = value - step * q;
    const Lanes weighted_r = load_lanes(w + i) * r;
    const Lanes weighted_q = load_lanes(w + i) * q;
    rr += weighted_r * r;
    rq += weighted_r * q;
    qq += weighted_q * q;
  }
  return {sum_lanes(rr), sum_lanes(rq), sum_lanes(qq)};
}

struct ScaleFit {
  float scale = 0;
  float error = std::numeric_limits<float>::infinity();
  void offer(float candidate, float its_error) {
    if (its_error < error) *this = {candidate, its_error};
  }
};

// Where a search starts: scales that put the largest magnitude at first, first + step, ... levels.
struct Starts {
  float first, step;
  int count;
};

struct ScalePlan {
  Starts below;  // the largest weight meets the lowest, negative, level
  Starts above;  // it meets the highest one
  int polish = 3;
};

// Least squares and rounding in turn, from the best scale so far.
template <int kSize, typename Levels>
void polish_scale(const float* x, const float* w, const Levels& levels, int rounds, ScaleFit& best) {
  for (int round = 0; round < rounds; ++round) {
    const ScaleSums sums = sum_residuals<kSize>(x, w, best.scale, levels);
    const float error = sums.error();
    if (!(error < best.error)) return;
    best = {best.scale + sums.correction(), error};
  }
}

// The scale (of either sign) for weights ~ scale * level.
template <int kSize, typename Levels>
ScaleFit search_scale(const float* x, const float* w, const Levels& levels, const ScalePlan& plan) {
  Lanes largest_lanes = {}, smallest_lanes = {};
  for (int i = 0; i < kSize; i += 4) {
    largest_lanes = max_lanes(largest_lanes, load_lanes(x + i));
    smallest_lanes = max_lanes(smallest_lanes, -load_lanes(x + i));
  }
  const float positive = max_of_lanes(largest_lanes), negative = max_of_lanes(smallest_lanes);
  // Levels that are the same on both sides need no negative scale.
  const float largest = plan.below.count == 0 ? std::max(positive, negative)
                        : positive > negative ? positive
                                              : -negative;
  if (largest == 0.0f) return {0, 0};
  ScaleFit best;
  for (const auto& [starts, sign] : {std::pair{plan.below, -1.0f}, std::pair{plan.above, 1.0f}}) {
    for (int i = 0; i < starts.count; ++i) {
      const float scale = sign * largest / (starts.first + starts.step * static_cast<float>(i));
      const ScaleSums sums = sum_residuals<kSize>(x, w, scale, levels);
      best.offer(scale + sums.correction(), sums.error());
    }
  }
  polish_scale<kSize>(x, w, levels, plan.polish, best);
  return best;
}

// The numbers for a scale that is settled, as integers plus an offset.
template <int kSize, typename Integer>
void quantize_integers(const float* x, float scale, const IntegerLevels& levels, int offset, Integer* quants) {
  alignas(16) float rounded[kSize];
  const Lanes inverse = broadcast(inverse_or_zero(scale));
  for (int i = 0; i < kSize; i += 4) store_lanes(levels.nearest(load_lanes(x + i) * inverse), rounded + i);
  for (int i = 0; i < kSize; ++i) quants[i] = static_cast<Integer>(static_cast<int>(rounded[i]) + offset);
}

}  // namespace wick
