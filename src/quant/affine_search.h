#pragma once

#include "quant/blocks.h"
#include "quant/lanes.h"
#include "quant/scale_search.h"

// The search of quant/scale_search.h with two unknowns: weight ~ scale * q + offset, q an integer from 0 to `top`.
namespace wick {

inline constexpr float kNoLimit = std::numeric_limits<float>::infinity();

struct AffineFit {
  float scale = 0, offset = 0;
  float error = std::numeric_limits<float>::infinity();
};

// Sums over r = x - scale * q - offset.
struct AffineSums {
  float rr, r, rq, q, qq, w;

  // Least squares for both unknowns with these q; the offset is kept at or below `offset_limit`.
  AffineFit refit(float scale, float offset, float offset_limit) const {
    const float determinant = w * qq - q * q;
    if (!(determinant > 1e-6f * w * qq)) return {scale, offset, rr};
    const float scale_change = (w * rq - q * r) / determinant;
    const float offset_change = (qq * r - q * rq) / determinant;
    if (offset + offset_change <= offset_limit) {
      return {scale + scale_change, offset + offset_change, rr - scale_change * rq - offset_change * r};
    }
    const float moved = offset_limit - offset;  // the offset is at its limit, the scale alone is free
    const float at_limit = (rq - moved * q) / qq;
    const float error = rr - 2 * moved * r + moved * moved * w - at_limit * (rq - moved * q);
    return {scale + at_limit, offset_limit, error};
  }
};

template <int kSize>
AffineSums sum_affine_residuals(const float* x, const float* w, float scale, float offset, float top) {
  const Lanes step = broadcast(scale), base = broadcast(offset), inverse = broadcast(inverse_or_zero(scale));
  const IntegerLevels levels{0, top};
  Lanes rr = {}, sum_r = {}, rq = {}, sum_q = {}, qq = {}, sum_w = {};
  for (int i = 0; i < kSize; i += 4) {
    const Lanes value = load_lanes(x + i) - base;
    const Lanes weight = load_lanes(w + i);
    const Lanes q = levels.nearest(value * inverse);
    const Lanes r = value - step * q;
    const Lanes weighted_r = weight * r;
    const Lanes weighted_q = weight * q;
    rr += weighted_r * r;
    sum_r += weighted_r;
    rq += weighted_r * q;
    sum_q += weighted_q;
    qq += weighted_q * q;
    sum_w += weight;
  }
  return {sum_lanes(rr), sum_lanes(sum_r), sum_lanes(rq), sum_lanes(sum_q), sum_lanes(qq), sum_lanes(sum_w)};
}

template <int kSize>
AffineFit search_affine(const float* x, const float* w, float top, float offset_limit, const Starts& starts) {
  Lanes low_lanes = load_lanes(x), high_lanes = low_lanes;
  for (int i = 4; i < kSize; i += 4) {
    low_lanes = min_lanes(low_lanes, load_lanes(x + i));
    high_lanes = max_lanes(high_lanes, load_lanes(x + i));
  }
  const float high = max_of_lanes(high_lanes);
  const float low = std::min(-max_of_lanes(-low_lanes), offset_limit);
  if (high <= low) return {0, low, 0};
  AffineFit best;
  for (int i = 0; i < starts.count; ++i) {
    const float range = starts.first + starts.step * static_cast<float>(i);  // the weights' range, in steps
    const float scale = (high - low) / range;
    // What does not fit is cut off at the top, on both sides, or at the bottom.
    for (int side = 0; side < 3; ++side) {
      const float offset = low + 0.5f * static_cast<float>(side) * (range - top) * scale;
      const AffineFit fit = sum_affine_residuals<kSize>(x, w, scale, offset, top).refit(scale, offset, offset_limit);
      if (fit.error < best.error) best = fit;
    }
  }
  for (int round = 0; round < 3; ++round) {
    const AffineFit fit =
        sum_affine_residuals<kSize>(x, w, best.scale, best.offset, top).refit(best.scale, best.offset, offset_limit);
    if (!(fit.error < best.error)) break;
    best = fit;
  }
  return best;
}

// The numbers for a scale and an offset that are settled.
template <int kSize>
void quantize_affine(const float* x, float scale, float offset, float top, uint8_t* quants) {
  alignas(16) float rounded[kSize];
  const Lanes base = broadcast(offset), inverse = broadcast(inverse_or_zero(scale));
  const IntegerLevels levels{0, top};
  for (int i = 0; i < kSize; i += 4) store_lanes(levels.nearest((load_lanes(x + i) - base) * inverse), rounded + i);
  for (int i = 0; i < kSize; ++i) quants[i] = static_cast<uint8_t>(static_cast<int>(rounded[i]));
}

}  // namespace wick
