#include "media/resampler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "media/dot.h"
#include "media/pcm.h"

namespace wick {
namespace {

constexpr double kHalfWidth = 64;           // in samples of the lower rate
constexpr double kCutoff = 0.475;           // of the lower rate: the middle of the slope from 0.45 to 0.5
constexpr double kKaiserBeta = 10.06;       // 100 dB
constexpr int64_t kExactWeights = 1 << 18;  // above this, fewer rows are made and mixed
// Rows per sample of the lower rate where weights are mixed: the error of mixing is then below -110 dB.
constexpr double kMixedRows = 1024;
constexpr int kMaxReduction = 256;  // the filter gets longer with it
constexpr int64_t kKeepBeforeMoving = 16384;

double bessel_i0(double x) {
  double sum = 1, term = 1;
  for (int k = 1; term > 1e-18 * sum; ++k) {
    term *= (x / (2 * k)) * (x / (2 * k));
    sum += term;
  }
  return sum;
}

// At `t` samples of the lower rate from the middle; not yet scaled.
double window_sinc(double t) {
  const double edge = t / kHalfWidth;
  if (std::abs(edge) >= 1) return 0;
  const double angle = 2 * std::numbers::pi * kCutoff * t;
  return (angle == 0 ? 1 : std::sin(angle) / angle) * bessel_i0(kKaiserBeta * std::sqrt(1 - edge * edge));
}

}  // namespace

Resampler::Resampler(int from_rate, int to_rate) : from_rate_(from_rate), to_rate_(to_rate) {
  for (const int rate : {from_rate, to_rate}) {
    if (rate < kMinSampleRate || rate > kMaxSampleRate) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("resample: ", rate, " Hz is outside ", kMinSampleRate, " to ", kMaxSampleRate));
    }
  }
  if (from_rate / to_rate > kMaxReduction) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("resample: ", from_rate, " Hz to ", to_rate, " Hz is more than ", kMaxReduction, " times less"));
  }
  const int common = std::gcd(from_rate, to_rate);
  step_ = from_rate / common;
  phases_ = to_rate / common;
  if (from_rate != to_rate) make_rows();
  // The first outputs reach back before the start.
  input_begin_ = -half_;
  input_.assign(static_cast<size_t>(half_), 0.0f);
}

void Resampler::make_rows() {
  const double stretch = std::max(1.0, static_cast<double>(from_rate_) / to_rate_);
  half_ = static_cast<int64_t>(std::ceil(kHalfWidth * stretch));
  const int64_t taps = 2 * half_;
  const auto mixed_rows = static_cast<int64_t>(std::ceil(kMixedRows / stretch));
  row_count_ = phases_ <= kExactWeights / taps ? phases_ : std::min(phases_, mixed_rows);
  rows_.resize(static_cast<size_t>((row_count_ + 1) * taps));
  std::vector<double> weights(static_cast<size_t>(taps));
  for (int64_t row = 0; row <= row_count_; ++row) {
    const double phase = static_cast<double>(row) / static_cast<double>(row_count_);
    double sum = 0;
    for (int64_t i = 0; i < taps; ++i) {
      const double distance = static_cast<double>(i - half_ + 1) - phase;
      sum += weights[static_cast<size_t>(i)] = window_sinc(distance / stretch);
    }
    float* to = rows_.data() + row * taps;
    for (int64_t i = 0; i < taps; ++i) to[i] = static_cast<float>(weights[static_cast<size_t>(i)] / sum);
  }
}

void Resampler::push(std::span<const float> samples) {
  // What lies before the window of the next output is not needed any more.
  const int64_t unused = std::min(at_ - half_, input_end_) - input_begin_;
  if (unused > kKeepBeforeMoving) {
    input_.erase(input_.begin(), input_.begin() + unused);
    input_begin_ += unused;
  }
  input_.insert(input_.end(), samples.begin(), samples.end());
  input_end_ += std::ssize(samples);
}

void Resampler::finish() {
  if (is_finished_) return;
  is_finished_ = true;
  input_.insert(input_.end(), static_cast<size_t>(half_), 0.0f);
}

float Resampler::sample_here() const {
  const float* window = input_.data() + (at_ - half_ + 1 - input_begin_);
  const int64_t taps = 2 * half_;
  if (row_count_ == phases_) return dot(rows_.data() + phase_ * taps, window, taps);
  const int64_t place = phase_ * row_count_;
  const float* row = rows_.data() + place / phases_ * taps;
  const float share = static_cast<float>(static_cast<double>(place % phases_) / static_cast<double>(phases_));
  return (1 - share) * dot(row, window, taps) + share * dot(row + taps, window, taps);
}

int64_t Resampler::read(std::span<float> out) {
  int64_t filled = 0;
  if (half_ == 0) {
    filled = std::min<int64_t>(std::ssize(out), input_end_ - at_);
    std::copy_n(input_.begin() + (at_ - input_begin_), filled, out.begin());
    at_ += filled;
    return filled;
  }
  // An output needs half_ samples behind at_; at the end, zeros stand in for them.
  const int64_t ready = is_finished_ ? input_end_ : input_end_ - half_;
  while (filled < std::ssize(out) && at_ < ready) {
    out[static_cast<size_t>(filled++)] = sample_here();
    phase_ += step_;
    at_ += phase_ / phases_;
    phase_ %= phases_;
  }
  return filled;
}

std::vector<float> resample(std::span<const float> samples, int from_rate, int to_rate) {
  Resampler resampler(from_rate, to_rate);
  resampler.push(samples);
  resampler.finish();
  const int64_t count = (std::ssize(samples) * to_rate + from_rate - 1) / from_rate;
  std::vector<float> out(static_cast<size_t>(count));
  out.resize(static_cast<size_t>(resampler.read(out)));
  return out;
}

}  // namespace wick
