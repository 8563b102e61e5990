#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace wick {

// Changes the sample rate by a windowed sinc (Kaiser, 64 samples of the lower rate on each side). With f the lower of
// the two rates: flat to 0.45 f, more than 90 dB down from 0.5 f on, no delay: sample n of the result is at the time
// n / to_rate of the input. Silence is assumed before and behind. n samples become ceil(n * to / from). Equal rates
// pass through unchanged.
//
// The state lies between calls: how the input is cut into pieces changes no bit of the result.
class Resampler {
 public:
  // Throws Error(kInvalidArgument) unless both are kMinSampleRate to kMaxSampleRate (pcm.h) and `to` is at least 1/256
  // of `from`.
  Resampler(int from_rate, int to_rate);

  int from_rate() const { return from_rate_; }
  void push(std::span<const float> samples);
  void finish();  // there is no more input
  // Fills `out` from the front. Fewer than asked for: push more, or that was the end.
  int64_t read(std::span<float> out);

 private:
  void make_rows();
  float sample_here() const;

  int from_rate_, to_rate_;
  // Output n is at input (n * step_ / phases_): both without their common divisor.
  int64_t step_, phases_;
  int64_t half_ = 0;         // input samples on each side
  int64_t row_count_ = 0;    // phases_, or fewer and results between two rows are mixed
  std::vector<float> rows_;  // [row_count_ + 1][2 * half_]: weights at phase row / row_count_

  std::vector<float> input_;  // from sample input_begin_ on
  int64_t input_begin_ = 0;
  int64_t input_end_ = 0;       // where the pushed ones end; behind finish() zeros follow
  int64_t at_ = 0, phase_ = 0;  // of the next output: input sample at_ + phase_ / phases_
  bool is_finished_ = false;
};

// All at once.
std::vector<float> resample(std::span<const float> samples, int from_rate, int to_rate);

}  // namespace wick
