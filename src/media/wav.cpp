#include "media/wav.h"

#include <cstring>
#include <limits>
#include <optional>

#include "base/error.h"
#include "base/text.h"
#include "media/pcm_source.h"

namespace wick {
namespace {

constexpr uint32_t kUnknownSize = 0xFFFFFFFF;
constexpr uint16_t kPcm = 1, kFloat = 3, kExtensible = 0xFFFE;
constexpr size_t kLook = 65536;  // how far into the file "fmt " is looked for to tell the codec

struct WavFormat {
  uint16_t codec = 0;  // of the extension where there is one
  uint16_t channels = 0;
  uint32_t sample_rate = 0;
  uint16_t block_bytes = 0;
  uint16_t bits = 0;
};

template <typename T>
T value_at(std::span<const std::byte> bytes, size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

bool is_at(std::span<const std::byte> bytes, size_t at, const char* id) {
  return bytes.size() >= at + 4 && std::memcmp(bytes.data() + at, id, 4) == 0;
}

Error bad(const ByteInput& input, const std::string& what) {
  return {ErrorCode::kBadFile, cat(input.name(), ": ", what)};
}

// `bytes` begin with what is in the chunk, whose size is `size`.
WavFormat read_format(std::span<const std::byte> bytes, uint32_t size) {
  WavFormat format;
  format.codec = value_at<uint16_t>(bytes, 0);
  format.channels = value_at<uint16_t>(bytes, 2);
  format.sample_rate = value_at<uint32_t>(bytes, 4);
  format.block_bytes = value_at<uint16_t>(bytes, 12);
  format.bits = value_at<uint16_t>(bytes, 14);
  // The extension: u16 size | u16 valid bits | u32 speakers | GUID, which begins with the codec
  if (format.codec == kExtensible && size >= 40 && bytes.size() >= 26) format.codec = value_at<uint16_t>(bytes, 24);
  return format;
}

// Empty when the samples are not of a kind read here.
std::optional<SampleFormat> sample_format(const WavFormat& format) {
  if (format.codec == kFloat && format.bits == 32) return SampleFormat::kF32;
  if (format.codec == kFloat && format.bits == 64) return SampleFormat::kF64;
  if (format.codec != kPcm || format.bits == 0) return std::nullopt;
  // Odd numbers of bits fill the upper end of the next whole byte.
  switch ((format.bits + 7) / 8) {
    case 1: return SampleFormat::kU8;
    case 2: return SampleFormat::kS16;
    case 3: return SampleFormat::kS24;
    case 4: return SampleFormat::kS32;
    default: return std::nullopt;
  }
}

// Looks without reading; empty when "fmt " is not near the front.
std::optional<WavFormat> look_for_format(ByteInput& input) {
  const auto bytes = input.peek(kLook);
  size_t at = 12;
  while (at + 8 <= bytes.size()) {
    const auto size = value_at<uint32_t>(bytes, at + 4);
    if (is_at(bytes, at, "fmt ")) {
      if (size < 16 || at + 24 > bytes.size()) return std::nullopt;
      return read_format(bytes.subspan(at + 8), size);
    }
    at += size_t{8} + size + (size & 1);
  }
  return std::nullopt;
}

// How many bytes of sound follow; the input stands at the first of them.
int64_t sound_bytes(const ByteInput& input, uint32_t riff_size, uint32_t data_size,
                    std::optional<uint64_t> large_size) {
  constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
  if (data_size == kUnknownSize) {
    return large_size && *large_size > 0 && *large_size < kToTheEnd ? static_cast<int64_t>(*large_size) : kToTheEnd;
  }
  // 0 is meant when the file goes on behind it by its own account, and else was never filled in.
  const bool has_more_chunks = riff_size != kUnknownSize && int64_t{riff_size} + 8 > input.position();
  return data_size == 0 && !has_more_chunks ? kToTheEnd : data_size;
}

}  // namespace

bool is_wav(ByteInput& input) {
  const auto bytes = input.peek(12);
  return (is_at(bytes, 0, "RIFF") || is_at(bytes, 0, "RF64")) && is_at(bytes, 8, "WAVE");
}

std::string wav_codec_name(ByteInput& input) {
  const auto format = look_for_format(input);
  return format ? cat("WAV of codec ", format->codec, " with ", format->bits, " bits") : "WAV of an unknown codec";
}

std::unique_ptr<SampleSource> open_wav(ByteInput& input) {
  const auto seen = look_for_format(input);
  if (seen && !sample_format(*seen)) return nullptr;
  const auto riff_size = value_at<uint32_t>(input.peek(12), 4);
  input.skip(12);
  std::optional<WavFormat> format;
  std::optional<uint64_t> large_size;
  while (true) {
    const auto header = input.peek(8);
    if (header.size() < 8) {
      throw bad(input, cat("the WAV file ends at byte ", input.position(), " without sound in it"));
    }
    const bool is_format = is_at(header, 0, "fmt "), is_data = is_at(header, 0, "data"),
               is_sizes = is_at(header, 0, "ds64");
    const auto size = value_at<uint32_t>(header, 4);
    input.skip(8);
    if (is_data) {
      if (!format) throw bad(input, cat("chunk 'data' at byte ", input.position() - 8, " comes before 'fmt '"));
      const auto samples = sample_format(*format);
      if (!samples) throw bad(input, cat("codec ", format->codec, " with ", format->bits, " bits is not PCM"));
      check_audio_format(format->sample_rate, format->channels, input.name());
      const int frame = bytes_per_sample(*samples) * format->channels;
      if (format->block_bytes != frame) {
        throw bad(input, cat("frames of ", format->block_bytes, " bytes, but ", format->channels, " channels of ",
                             format->bits, " bits take ", frame));
      }
      const int64_t bytes = sound_bytes(input, riff_size, size, large_size);
      const RawAudio raw{*samples, static_cast<int>(format->sample_rate), format->channels};
      return std::make_unique<PcmSource>(std::move(input), raw, cat("wav ", *samples), bytes);
    }
    if (is_format) {
      const auto bytes = input.peek(26);
      if (size < 16 || bytes.size() < 16)
        throw bad(input, cat("chunk 'fmt ' has ", size, " bytes, at least 16 are needed"));
      format = read_format(bytes, size);
    } else if (is_sizes && size >= 16) {
      const auto bytes = input.peek(16);
      if (bytes.size() == 16) large_size = value_at<uint64_t>(bytes, 8);
    }
    input.skip(int64_t{size} + (size & 1));
  }
}

}  // namespace wick
