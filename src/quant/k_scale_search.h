#pragma once

#include "quant/scale_search.h"

// Formats whose groups share a scale in two stages: weight ~ scale * index[group] * level, the index a small integer.
namespace wick {

template <int kGroups>
struct KScales {
  StoredScale scale{};
  int index[kGroups] = {};
  float error = std::numeric_limits<float>::infinity();
  float step(int group) const { return scale.value * static_cast<float>(index[group]); }
};

struct IndexRange {
  int low, high;
  int clamp(int index) const { return std::clamp(index, low, high); }
  int nearest(float value) const {
    return static_cast<int>(std::lround(std::clamp(value, static_cast<float>(low), static_cast<float>(high))));
  }
};

// Searches each group on its own, then settles the shared scale: indices compete with their neighbours under the shared
// scale as stored, least squares moves that scale, and so on.
template <int kGroups, typename Levels>
KScales<kGroups> search_k_scales(const BlockInput<256>& input, const Levels& levels, const ScalePlan& plan,
                                 IndexRange range) {
  constexpr int kSize = 256 / kGroups;
  float wanted[kGroups];
  float widest = 0;
  for (int g = 0; g < kGroups; ++g) {
    wanted[g] = search_scale<kSize>(input.x + g * kSize, input.w + g * kSize, levels, plan).scale;
    if (std::abs(wanted[g]) > std::abs(widest)) widest = wanted[g];
  }
  KScales<kGroups> best;
  float shared = widest / static_cast<float>(range.low);
  for (int round = 0; round < 4; ++round) {
    KScales<kGroups> current;
    current.scale = store_scale(shared, input.unit);
    current.error = 0;
    const float inverse = inverse_or_zero(current.scale.value);
    float change = 0, curvature = 0;
    for (int g = 0; g < kGroups; ++g) {
      const int centre = range.nearest(wanted[g] * inverse);
      ScaleSums chosen{std::numeric_limits<float>::infinity(), 0, 0};
      for (int index = range.clamp(centre - 1); index <= range.clamp(centre + 1); ++index) {
        const float step = current.scale.value * static_cast<float>(index);
        const ScaleSums sums = sum_residuals<kSize>(input.x + g * kSize, input.w + g * kSize, step, levels);
        if (sums.rr < chosen.rr) {
          chosen = sums;
          current.index[g] = index;
        }
      }
      const auto index = static_cast<float>(current.index[g]);
      current.error += chosen.rr;
      change += index * chosen.rq;
      curvature += index * index * chosen.qq;
      wanted[g] = current.step(g) + chosen.correction();
    }
    if (current.error < best.error) best = current;
    if (!(curvature > 0)) break;
    const float next = current.scale.value + change / curvature;
    if (store_scale(next, input.unit).bits == current.scale.bits) break;
    shared = next;
  }
  return best;
}

}  // namespace wick
