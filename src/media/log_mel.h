#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "media/mel_filters.h"
#include "tensor/tensor.h"

namespace wick {

struct LogMelOptions {
  int bins = 80;
  // Shorter sound is continued with silence up to this many samples.
  int64_t min_samples = 0;

  static LogMelOptions whisper(int bins) { return {bins, int64_t{30} * kMelSampleRate}; }  // 3,000 frames
  static LogMelOptions qwen3_asr() { return {128, kMelSampleRate / 2}; }
};

// Log-mel features of mono sound at 16 kHz, as Whisper and Qwen3-ASR compute them: windows of 400 samples (periodic
// Hann) centred on every 160th sample, the sound mirrored at both ends; power spectrum, mel filters, log10 of at least
// 1e-10, raised to at least 8 below the maximum of the whole clip, then (x + 4) / 4.
//
// Sound may come in any pieces: features() is always, bit for bit, what log_mel() gives for all of it so far. Frames
// whose window lies inside the sound are computed once; the maximum of the clip and the last two frames may still
// change. Holds `bins` numbers per frame (184 MB for an hour at 128 bins) and less than 1,000 samples.
class LogMel {
 public:
  explicit LogMel(const LogMelOptions& options);

  // Throws Error(kBadFile) when a sample is not a finite number; nothing is added then.
  void push(std::span<const float> samples);

  const LogMelOptions& options() const { return options_; }
  int64_t samples() const { return samples_; }
  // One per 160 samples, after padding to min_samples.
  int64_t frames() const;
  // How many frames at the front will not change any more, except for the maximum.
  int64_t settled_frames() const { return settled_; }

  // [bins, frames()]. Throws Error(kInvalidArgument) when there are fewer than 201 samples (after padding).
  Tensor features() const;
  // The same frames from `begin` to `end`, with the maximum of the whole clip.
  Tensor features(int64_t begin, int64_t end) const;

 private:
  void add_settled(std::span<const float> samples);
  std::vector<float> tail() const;

  LogMelOptions options_;
  std::vector<MelFilter> filters_;
  int64_t samples_ = 0;
  int64_t settled_ = 0;
  std::vector<float> settled_logs_;  // [settled_, bins]: log10 of at least 1e-10
  float settled_max_;
  std::vector<float> recent_;  // from sample recent_begin_ on, where the window of the next frame begins
  int64_t recent_begin_ = 0;
};

// All at once: [bins, frames].
Tensor log_mel(std::span<const float> samples, const LogMelOptions& options);

// Appends frames of zeros up to a multiple, as Qwen3-ASR does with 100: [bins, frames] becomes [bins, more frames].
Tensor pad_frames(const Tensor& features, int64_t multiple);

}  // namespace wick
