#include "media/wav_writer.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr int64_t kMostBytes = 0xFFFFFFFF;  // what 32 bits say of sound whose length is not known
constexpr int kSampleBytes = 2;

void append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
}

// "LIST" | size | "INFO" | "ICMT" | size | text, a zero, and one more if that is odd
std::string comment_chunk(const std::string& comment) {
  if (comment.empty()) return {};
  std::string text = comment + '\0';
  const size_t size = text.size();
  if (size % 2 != 0) text += '\0';
  std::string out = "LIST";
  append(out, 4 + 8 + text.size(), 4);
  out += "INFOICMT";
  append(out, size, 4);
  return out + text;
}

}  // namespace

std::string pcm16_bytes(std::span<const float> samples) {
  std::string out;
  out.reserve(samples.size() * kSampleBytes);
  for (const float sample : samples) {
    const float scaled = std::nearbyint(std::clamp(sample, -1.0f, 1.0f) * 32767.0f);
    append(out, static_cast<uint16_t>(static_cast<int16_t>(scaled)), kSampleBytes);
  }
  return out;
}

std::string wav_header(const WavHeader& header) {
  const std::string comment = comment_chunk(header.comment);
  const auto beside = static_cast<int64_t>(4 + 8 + 16 + comment.size() + 8);
  const int64_t frame = int64_t{kSampleBytes} * header.channels;
  if (header.samples > (kMostBytes - beside) / frame) {
    throw Error(ErrorCode::kInvalidArgument, cat("a WAV file does not hold ", header.samples, " samples"));
  }
  const int64_t bytes = header.samples < 0 ? kMostBytes : header.samples * frame;
  std::string out = "RIFF";
  append(out, static_cast<uint64_t>(std::min(kMostBytes, beside + bytes)), 4);
  out += "WAVEfmt ";
  append(out, 16, 4);
  append(out, 1, 2);  // PCM
  append(out, static_cast<uint64_t>(header.channels), 2);
  append(out, static_cast<uint64_t>(header.sample_rate), 4);
  append(out, static_cast<uint64_t>(header.sample_rate * frame), 4);
  append(out, static_cast<uint64_t>(frame), 2);
  append(out, 8 * kSampleBytes, 2);
  out += comment + "data";
  append(out, static_cast<uint64_t>(bytes), 4);
  return out;
}

}  // namespace wick
