#pragma once

#include "quant/affine_search.h"
#include "quant/blocks.h"
#include "quant/scale_search.h"

namespace wick {

struct ZeroFit {
  float scale, zero;
};

// weight ~ scale * (q - zero), q an integer from 0 to `top`, zero an integer from 0 to `top_zero`: the affine search
// proposes, then the whole numbers around its zero compete.
inline ZeroFit search_zero(const BlockInput<32>& input, float top, float top_zero) {
  const AffineFit affine = search_affine<32>(input.x, input.w, top, 0.0f, {top - 0.8f, 0.4f, 7});
  if (affine.scale == 0.0f) {  // all weights are the same
    const float level = affine.offset < 0 ? -1.0f : 1.0f;
    return {std::abs(input.x[0]), level < 0 ? 1.0f : 0.0f};
  }
  const float centre = std::round(-affine.offset / affine.scale);
  ScaleFit best;
  float best_zero = 0;
  for (int shift = -1; shift <= 1; ++shift) {
    const float zero = std::clamp(centre + static_cast<float>(shift), 0.0f, top_zero);
    const IntegerLevels levels{-zero, top - zero};
    ScaleFit fit;
    for (int i = -3; i <= 3; ++i) {
      const float scale = affine.scale * (1.0f + 0.12f / top * static_cast<float>(i));
      const ScaleSums sums = sum_residuals<32>(input.x, input.w, scale, levels);
      fit.offer(scale + sums.correction(), sums.error());
    }
    polish_scale<32>(input.x, input.w, levels, 3, fit);
    if (fit.error < best.error) {
      best = fit;
      best_zero = zero;
    }
  }
  return {best.scale, best_zero};
}

}  // namespace wick
