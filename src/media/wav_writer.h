#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace wick {

// Samples as 16-bit PCM, little endian; what lies outside [-1, 1] is clipped.
std::string pcm16_bytes(std::span<const float> samples);

struct WavHeader {
  int sample_rate = 0;
  int channels = 1;
  int64_t samples = -1;  // of each channel; -1: not known, as in a pipe
  std::string comment;   // kept in the file beside the sound; empty: none
};
// What stands before 16-bit PCM in a WAV file. Throws Error(kInvalidArgument) for more sound than such a file holds.
std::string wav_header(const WavHeader& header);

}  // namespace wick
