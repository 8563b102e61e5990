#include "media/pcm.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

template <typename T, typename Convert>
void decode_each(std::span<const std::byte> bytes, std::span<float> out, const Convert& convert) {
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = convert(value);
  }
}

struct Int24 {
  uint8_t bytes[3];
};

}  // namespace

std::string_view to_string(SampleFormat format) {
  switch (format) {
    case SampleFormat::kU8: return "u8";
    case SampleFormat::kS16: return "s16";
    case SampleFormat::kS24: return "s24";
    case SampleFormat::kS32: return "s32";
    case SampleFormat::kF32: return "f32";
    case SampleFormat::kF64: return "f64";
  }
  return "unknown";
}

int bytes_per_sample(SampleFormat format) {
  switch (format) {
    case SampleFormat::kU8: return 1;
    case SampleFormat::kS16: return 2;
    case SampleFormat::kS24: return 3;
    case SampleFormat::kS32:
    case SampleFormat::kF32: return 4;
    case SampleFormat::kF64: return 8;
  }
  return 0;
}

void decode_pcm(SampleFormat format, std::span<const std::byte> bytes, std::span<float> out) {
  switch (format) {
    case SampleFormat::kU8:
      return decode_each<uint8_t>(bytes, out, [](uint8_t x) { return static_cast<float>(x - 128) / 128; });
    case SampleFormat::kS16:
      return decode_each<int16_t>(bytes, out, [](int16_t x) { return static_cast<float>(x) / 32768; });
    case SampleFormat::kS24:
      return decode_each<Int24>(bytes, out, [](const Int24& x) {
        const uint32_t high = uint32_t{x.bytes[0]} << 8 | uint32_t{x.bytes[1]} << 16 | uint32_t{x.bytes[2]} << 24;
        return static_cast<float>(static_cast<int32_t>(high)) / 2147483648.0f;
      });
    case SampleFormat::kS32:
      return decode_each<int32_t>(bytes, out, [](int32_t x) { return static_cast<float>(x) / 2147483648.0f; });
    case SampleFormat::kF32: return decode_each<float>(bytes, out, [](float x) { return x; });
    case SampleFormat::kF64: return decode_each<double>(bytes, out, [](double x) { return static_cast<float>(x); });
  }
}

void mix_to_mono(std::span<const float> samples, int channels, std::span<float> out) {
  const auto count = static_cast<size_t>(channels);
  for (size_t i = 0; i < out.size(); ++i) {
    float total = 0;
    for (const float sample : samples.subspan(i * count, count)) total += sample;
    out[i] = total / static_cast<float>(channels);
  }
}

void check_samples(std::span<const float> samples, int64_t first, int sample_rate, const std::string& name) {
  bool all_good = true;  // without a branch, so that it costs nothing
  for (const float sample : samples) all_good &= std::abs(sample) <= kMaxSample;
  if (all_good) return;
  for (size_t i = 0; i < samples.size(); ++i) {
    if (std::abs(samples[i]) <= kMaxSample) continue;
    const int64_t at = first + static_cast<int64_t>(i);
    throw Error(ErrorCode::kBadFile, cat(name, ": sample ", at, " (at ", static_cast<double>(at) / sample_rate,
                                         " s) is ", samples[i], ", which is no sound"));
  }
}

void check_audio_format(int64_t sample_rate, int64_t channels, const std::string& name) {
  if (sample_rate < kMinSampleRate || sample_rate > kMaxSampleRate) {
    throw Error(ErrorCode::kBadFile,
                cat(name, ": a sample rate of ", sample_rate, " Hz, outside ", kMinSampleRate, " to ", kMaxSampleRate));
  }
  if (channels < 1 || channels > kMaxChannels) {
    throw Error(ErrorCode::kBadFile, cat(name, ": ", channels, " channels, outside 1 to ", kMaxChannels));
  }
}

}  // namespace wick
