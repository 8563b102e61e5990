#pragma once

#include "quant/affine_search.h"

// Formats whose groups share scales and minimums in two stages:
// weight ~ scale * scales[group] * q - min_scale * mins[group], q from 0 to `top`, both indices from 0 to `top_index`.
namespace wick {

template <int kGroups>
struct KAffine {
  StoredScale scale{}, min_scale{};
  uint8_t scales[kGroups] = {};
  uint8_t mins[kGroups] = {};
  float error = std::numeric_limits<float>::infinity();
  float step(int group) const { return scale.value * static_cast<float>(scales[group]); }
  float min(int group) const { return min_scale.value * static_cast<float>(mins[group]); }
};

// The pair of indices for one group under shared scales that are settled.
struct GroupChoice {
  int scale_index = 0, min_index = 0;
  AffineSums sums{std::numeric_limits<float>::infinity(), 0, 0, 0, 0, 0};
};

template <int kSize>
GroupChoice choose_group(const float* x, const float* w, float top, int top_index, float scale, float min_scale,
                         const AffineFit& wanted) {
  const float inverse = inverse_or_zero(scale), inverse_min = inverse_or_zero(min_scale);
  const auto index_near = [top_index](float value) {
    return static_cast<int>(std::lround(std::clamp(value, 0.0f, static_cast<float>(top_index))));
  };
  const int centre = index_near(wanted.scale * inverse);
  const int first_min = index_near(-wanted.offset * inverse_min);
  GroupChoice best;
  for (int index = std::max(centre - 1, 0); index <= std::min(centre + 1, top_index); ++index) {
    const float step = scale * static_cast<float>(index);
    int min_index = first_min;
    for (int attempt = 0; attempt < 2; ++attempt) {
      const float offset = -min_scale * static_cast<float>(min_index);
      const AffineSums sums = sum_affine_residuals<kSize>(x, w, step, offset, top);
      if (sums.rr < best.sums.rr) best = {index, min_index, sums};
      const int better = sums.w > 0 ? index_near(-(offset + sums.r / sums.w) * inverse_min) : min_index;
      if (better == min_index) break;
      min_index = better;
    }
  }
  return best;
}

// One pass over the groups under the shared scales of `fit`: fills its indices and error, moves what each group wants,
// and returns by how much least squares would change the two shared scales.
struct SharedChange {
  float scale, min_scale;
};
template <int kGroups>
SharedChange choose_groups(const BlockInput<256>& input, float top, int top_index, AffineFit* wanted,
                           KAffine<kGroups>& fit) {
  constexpr int kSize = 256 / kGroups;
  float ss = 0, sm = 0, mm = 0, rs = 0, rm = 0;
  fit.error = 0;
  for (int g = 0; g < kGroups; ++g) {
    const GroupChoice choice = choose_group<kSize>(input.x + g * kSize, input.w + g * kSize, top, top_index,
                                                   fit.scale.value, fit.min_scale.value, wanted[g]);
    fit.scales[g] = static_cast<uint8_t>(choice.scale_index);
    fit.mins[g] = static_cast<uint8_t>(choice.min_index);
    fit.error += choice.sums.rr;
    const auto s = static_cast<float>(choice.scale_index), m = static_cast<float>(choice.min_index);
    ss += s * s * choice.sums.qq;
    sm -= s * m * choice.sums.q;
    mm += m * m * choice.sums.w;
    rs += s * choice.sums.rq;
    rm -= m * choice.sums.r;
    wanted[g] = choice.sums.refit(fit.step(g), -fit.min(g), 0.0f);
  }
  const float determinant = ss * mm - sm * sm;
  if (determinant > 1e-6f * ss * mm) return {(mm * rs - sm * rm) / determinant, (ss * rm - sm * rs) / determinant};
  return {ss > 0 ? rs / ss : 0.0f, 0.0f};
}

template <int kGroups>
KAffine<kGroups> search_k_affine(const BlockInput<256>& input, float top, int top_index, const Starts& starts) {
  constexpr int kSize = 256 / kGroups;
  AffineFit wanted[kGroups];
  float largest_scale = 0, largest_min = 0;
  for (int g = 0; g < kGroups; ++g) {
    wanted[g] = search_affine<kSize>(input.x + g * kSize, input.w + g * kSize, top, 0.0f, starts);
    largest_scale = std::max(largest_scale, wanted[g].scale);
    largest_min = std::max(largest_min, -wanted[g].offset);
  }
  KAffine<kGroups> best;
  float scale = largest_scale / static_cast<float>(top_index);
  float min_scale = largest_min / static_cast<float>(top_index);
  for (int round = 0; round < 4; ++round) {
    KAffine<kGroups> current;
    current.scale = store_scale(scale, input.unit);
    current.min_scale = store_scale(min_scale, input.unit);
    const SharedChange change = choose_groups<kGroups>(input, top, top_index, wanted, current);
    if (current.error < best.error) best = current;
    scale = std::max(current.scale.value + change.scale, 0.0f);
    min_scale = std::max(current.min_scale.value + change.min_scale, 0.0f);
    if (store_scale(scale, input.unit).bits == current.scale.bits &&
        store_scale(min_scale, input.unit).bits == current.min_scale.bits) {
      break;
    }
  }
  return best;
}

}  // namespace wick
