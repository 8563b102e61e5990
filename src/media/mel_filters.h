#pragma once

#include <cstdint>
#include <vector>

namespace wick {

// The spectrum that log-mel features are made of: 16 kHz, windows of 400 samples, one every 160.
inline constexpr int kMelSampleRate = 16000;
inline constexpr int kMelWindow = 400;
inline constexpr int kMelHop = 160;
inline constexpr int kMelSpectrum = kMelWindow / 2 + 1;  // 0 to 8 kHz in steps of 40 Hz

// One triangle over the spectrum: weight i is that of point first + i.
struct MelFilter {
  int first = 0;
  std::vector<float> weights;
};

// Slaney's mel scale (linear to 1 kHz, logarithmic above) from 0 to 8 kHz; each triangle has the area of 1 Hz. The
// filters of Whisper (80 and 128 bins) and Qwen3-ASR (128). Throws Error(kInvalidArgument) unless 1 <= bins <= 512.
std::vector<MelFilter> mel_filters(int bins);
// The same over a spectrum of `points`, from 0 to `top_hz`, with the last of which the filters end.
std::vector<MelFilter> mel_filters(int bins, double top_hz, int points);

}  // namespace wick
