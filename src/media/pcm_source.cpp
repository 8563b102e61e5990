#include "media/pcm_source.h"

#include <algorithm>

namespace wick {
namespace {

constexpr int64_t kSamplesAtOnce = 16384;

}  // namespace

PcmSource::PcmSource(ByteInput input, const RawAudio& raw, std::string format, int64_t bytes)
    : input_(std::move(input)), raw_(raw), bytes_left_(bytes) {
  check_audio_format(raw.sample_rate, raw.channels, input_.name());
  info_ = {std::move(format), raw.sample_rate, raw.channels, {}};
  const int64_t frame = int64_t{bytes_per_sample(raw.format)} * raw.channels;
  if (input_.size()) {
    const int64_t there = std::min(bytes_left_, std::max<int64_t>(0, *input_.size() - input_.position()));
    info_.seconds = static_cast<double>(there / frame) / raw.sample_rate;
  }
  const int64_t frames = std::max<int64_t>(1, kSamplesAtOnce / raw.channels);
  bytes_.resize(static_cast<size_t>(frames * frame));
  samples_.resize(static_cast<size_t>(frames * raw.channels));
}

AudioBlock PcmSource::next() {
  const int width = bytes_per_sample(raw_.format);
  const auto frame = static_cast<size_t>(width * raw_.channels);
  const auto want = static_cast<size_t>(std::min<int64_t>(bytes_left_, std::ssize(bytes_)));
  size_t got = 0;
  bool is_over = want == 0;
  // Whole frames, and no waiting for more than there is: sound may come as it is spoken.
  while (!is_over && (got == 0 || got % frame != 0)) {
    const size_t more = input_.read_some(std::span(bytes_).first(want).subspan(got));
    got += more;
    is_over = more == 0;
  }
  bytes_left_ = is_over ? 0 : bytes_left_ - static_cast<int64_t>(got);
  const size_t frames = got / frame;
  const auto samples = std::span(samples_).first(frames * static_cast<size_t>(raw_.channels));
  decode_pcm(raw_.format, std::span(bytes_).first(samples.size() * static_cast<size_t>(width)), samples);
  return {samples, raw_.channels, raw_.sample_rate};
}

}  // namespace wick
