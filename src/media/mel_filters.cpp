#include "media/mel_filters.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr int kMaxBins = 512;
constexpr double kHzPerLinearMel = 200.0 / 3, kBreakHz = 1000, kBreakMel = kBreakHz / kHzPerLinearMel;
const double kLogStep = std::log(6.4) / 27;

double mel_of(double hz) {
  return hz < kBreakHz ? hz / kHzPerLinearMel : kBreakMel + std::log(hz / kBreakHz) / kLogStep;
}
double hz_of(double mel) {
  return mel < kBreakMel ? mel * kHzPerLinearMel : kBreakHz * std::exp(kLogStep * (mel - kBreakMel));
}

}  // namespace

std::vector<MelFilter> mel_filters(int bins) { return mel_filters(bins, kMelSampleRate / 2.0, kMelSpectrum); }

std::vector<MelFilter> mel_filters(int bins, double top_hz, int points) {
  if (bins < 1 || bins > kMaxBins) {
    throw Error(ErrorCode::kInvalidArgument, cat("log-mel: ", bins, " bins, outside 1 to ", kMaxBins));
  }
  const double step_hz = top_hz / (points - 1);
  std::vector<double> corner(static_cast<size_t>(bins) + 2);
  for (size_t i = 0; i < corner.size(); ++i) {
    corner[i] = hz_of(mel_of(top_hz) * static_cast<double>(i) / static_cast<double>(bins + 1));
  }
  std::vector<MelFilter> filters(static_cast<size_t>(bins));
  for (size_t bin = 0; bin < filters.size(); ++bin) {
    const double low = corner[bin], middle = corner[bin + 1], high = corner[bin + 2];
    for (int point = 0; point < points; ++point) {
      const double hz = point * step_hz;
      const double height = std::min((hz - low) / (middle - low), (high - hz) / (high - middle));
      if (height <= 0) continue;
      if (filters[bin].weights.empty()) filters[bin].first = point;
      filters[bin].weights.push_back(static_cast<float>(height * 2 / (high - low)));
    }
  }
  return filters;
}

}  // namespace wick
