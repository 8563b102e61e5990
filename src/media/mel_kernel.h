#pragma once

#include <cstdint>
#include <span>

#include "media/mel_filters.h"

namespace wick {

// log10(max(1e-10, mel filters of the power spectrum)) of `frames` windows, the first at samples[0], each 160 further:
// out [frames, filters]. A frame's numbers do not depend on the others'.
void log_mel_frames(const float* samples, int64_t frames, std::span<const MelFilter> filters, float* out);

// |FFT|^2 of one window of 400 samples, without the Hann window; for tests.
void power_spectrum(const float* samples, float* out);  // out [201]

}  // namespace wick
