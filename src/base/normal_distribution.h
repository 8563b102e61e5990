#pragma once

#include <cmath>

namespace wick {

// The share of a normal distribution that lies below so many standard deviations above its mean.
inline double normal_share_below(double deviations) { return 0.5 * std::erfc(-deviations / std::sqrt(2.0)); }

// The other way; minus infinity for 0.
inline double normal_deviations(double share) {
  if (!(share > 0)) return -INFINITY;
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (normal_share_below(middle) < share ? low : high) = middle;
  }
  return high;
}

}  // namespace wick
