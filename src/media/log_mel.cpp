#include "media/log_mel.h"

#include <algorithm>
#include <limits>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"
#include "media/mel_kernel.h"
#include "media/pcm.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kBefore = kMelWindow / 2;  // frame t is centred on sample 160 t
constexpr int64_t kLeastSamples = kBefore + 1;
constexpr int64_t kPiece = int64_t{64} * kMelHop;

}  // namespace

LogMel::LogMel(const LogMelOptions& options)
    : options_(options), filters_(mel_filters(options.bins)), settled_max_(-std::numeric_limits<float>::infinity()) {
  if (options.min_samples < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("log-mel: min_samples is ", options.min_samples));
  }
}

int64_t LogMel::frames() const { return std::max(samples_, options_.min_samples) / kMelHop; }

void LogMel::push(std::span<const float> samples) {
  check_samples(samples, samples_, kMelSampleRate, "log-mel");
  while (!samples.empty()) {
    const auto piece = samples.first(std::min(samples.size(), static_cast<size_t>(kPiece)));
    add_settled(piece);
    samples = samples.subspan(piece.size());
  }
}

void LogMel::add_settled(std::span<const float> samples) {
  recent_.insert(recent_.end(), samples.begin(), samples.end());
  samples_ += std::ssize(samples);
  if (samples_ < kLeastSamples) return;
  if (settled_ == 0 && recent_begin_ == 0) {  // mirrors the start, once
    std::vector<float> mirrored(recent_.begin() + 1, recent_.begin() + kLeastSamples);
    std::reverse(mirrored.begin(), mirrored.end());
    recent_.insert(recent_.begin(), mirrored.begin(), mirrored.end());
    recent_begin_ = -kBefore;
  }
  const int64_t count = (samples_ - kBefore) / kMelHop + 1 - settled_;
  if (count <= 0) return;
  const auto at = settled_logs_.size();
  settled_logs_.resize(at + static_cast<size_t>(count * options_.bins));
  log_mel_frames(recent_.data(), count, filters_, settled_logs_.data() + at);
  settled_max_ = std::max(
      settled_max_, *std::max_element(settled_logs_.begin() + static_cast<std::ptrdiff_t>(at), settled_logs_.end()));
  settled_ += count;
  recent_.erase(recent_.begin(), recent_.begin() + count * kMelHop);
  recent_begin_ += count * kMelHop;
}

// [frames() - settled_, bins]: the frames that reach behind the end.
std::vector<float> LogMel::tail() const {
  const int64_t count = frames() - settled_;
  std::vector<float> sound = recent_;
  const int64_t padded = std::max(samples_, options_.min_samples);
  if (padded < kLeastSamples) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("log-mel: ", padded, " samples, but at least ", kLeastSamples, " are needed"));
  }
  sound.resize(static_cast<size_t>(padded - recent_begin_), 0.0f);
  if (recent_begin_ == 0) {  // so short that the start has not been mirrored yet
    std::vector<float> mirrored(sound.begin() + 1, sound.begin() + kLeastSamples);
    std::reverse(mirrored.begin(), mirrored.end());
    sound.insert(sound.begin(), mirrored.begin(), mirrored.end());
  }
  const auto end = std::ssize(sound);
  for (int64_t i = 0; i < kBefore; ++i) sound.push_back(sound[static_cast<size_t>(end - 2 - i)]);
  std::vector<float> logs(static_cast<size_t>(count * options_.bins));
  log_mel_frames(sound.data(), count, filters_, logs.data());
  return logs;
}

Tensor LogMel::features() const { return features(0, frames()); }

Tensor LogMel::features(int64_t begin, int64_t end) const {
  if (begin < 0 || begin > end || end > frames()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("log-mel: frames ", begin, " to ", end, " were asked for, of ", frames()));
  }
  const std::vector<float> last = tail();
  const float max = last.empty() ? settled_max_ : std::max(settled_max_, *std::max_element(last.begin(), last.end()));
  const float least = max - 8;
  Tensor out = empty({options_.bins, end - begin});
  auto* to = out.mutable_data<float>();
  for (int64_t frame = begin; frame < end; ++frame) {
    const float* from = frame < settled_ ? settled_logs_.data() + frame * options_.bins
                                         : last.data() + (frame - settled_) * options_.bins;
    for (int64_t bin = 0; bin < options_.bins; ++bin) {
      to[bin * (end - begin) + frame - begin] = (std::max(from[bin], least) + 4) / 4;
    }
  }
  return out;
}

Tensor log_mel(std::span<const float> samples, const LogMelOptions& options) {
  LogMel stream(options);
  stream.push(samples);
  return stream.features();
}

Tensor pad_frames(const Tensor& features, int64_t multiple) {
  if (features.rank() != 2 || multiple < 1) {
    throw Error(ErrorCode::kShape, cat("pad_frames: ", features.shape(), " to a multiple of ", multiple));
  }
  const int64_t bins = features.dim(0), frames = features.dim(1), padded = round_up(frames, multiple);
  Tensor out = zeros({bins, padded});
  const auto* from = features.data<float>();
  for (int64_t bin = 0; bin < bins; ++bin) {
    std::copy_n(from + bin * features.strides()[0], frames, out.mutable_data<float>() + bin * padded);
  }
  return out;
}

}  // namespace wick
