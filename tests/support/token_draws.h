#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "ops/layers/token_draw.h"

namespace wick {

// TokenDraw once more, as plainly as possible: a full sort, and sums of whole numbers. An empty mask allows all.
inline int32_t reference_draw(std::span<const float> logits, const TokenDraw& draw,
                              std::span<const uint32_t> mask = {}) {
  std::vector<int32_t> kept;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (!(logits[i] < std::numeric_limits<float>::infinity())) return -1;
    const bool is_allowed = mask.empty() || (mask[i / 32] >> i % 32 & 1);
    if (is_allowed && std::isfinite(logits[i])) kept.push_back(static_cast<int32_t>(i));
  }
  if (kept.empty()) return -1;
  const auto logit = [&](int32_t token) { return logits[static_cast<size_t>(token)]; };
  std::ranges::stable_sort(kept, [&](int32_t a, int32_t b) { return logit(a) > logit(b); });
  if (draw.temperature <= 0) return kept[0];
  const float most = logit(kept[0]);
  const auto units = [&](int32_t token, float temperature) {
    const float weight = weight_below((most - logit(token)) / temperature);
    return static_cast<uint64_t>(std::ldexp(static_cast<double>(weight), kWeightBits));
  };
  if (draw.top_k > 0) kept.resize(std::min(kept.size(), static_cast<size_t>(draw.top_k)));
  if (draw.top_p < 1) {
    uint64_t total = 0, sum = 0;
    for (const int32_t token : kept) total += units(token, 1);
    size_t count = 0;
    do {
      sum += units(kept[count++], 1);
    } while (static_cast<double>(sum) < static_cast<double>(draw.top_p) * static_cast<double>(total));
    kept.resize(count);
  }
  std::erase_if(kept, [&](int32_t token) { return logit(token) < most + draw.log_min_p; });
  std::ranges::sort(kept);
  uint64_t total = 0, sum = 0;
  for (const int32_t token : kept) total += units(token, draw.temperature);
  int32_t chosen = -1;
  for (const int32_t token : kept) {
    const uint64_t weight = units(token, draw.temperature);
    sum += weight;
    if (weight > 0) chosen = token;
    if (static_cast<double>(sum) > draw.uniform * static_cast<double>(total)) break;
  }
  return chosen;
}

}  // namespace wick
