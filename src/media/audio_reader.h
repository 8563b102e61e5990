#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "media/pcm.h"

namespace wick {

// Samples without a header.
struct RawAudio {
  SampleFormat format = SampleFormat::kS16;
  int sample_rate = 16000;
  int channels = 1;  // interleaved
};

struct AudioOptions {
  int sample_rate = 16000;      // of what is read
  std::optional<RawAudio> raw;  // the bytes have no header and are this
  double longest_seconds = 24 * 3600;
  // Asked again and again while sound is read; true ends that with Error(kIo).
  std::function<bool()> is_cancelled = {};
};

// What a file says about itself.
struct AudioInfo {
  std::string format;  // "wav s16", "mp3", "opus"
  int sample_rate = 0;
  int channels = 0;
  std::optional<double> seconds;  // may be wrong or absent: only reading tells
};

// Sound as mono f32 at one sample rate, read front to back; channels are averaged. Only a fraction of a second is held
// in memory, however long the file is. What comes out does not depend on how much is asked for at once. Full scale is
// 1; clipped or louder sound passes as it is. A file that ends early gives what is there. One thread at a time.
class AudioReader {
 public:
  virtual ~AudioReader() = default;

  virtual const AudioInfo& info() const = 0;
  // Fills `out` from the front and returns how many samples it got: fewer than asked for only at the end. Throws
  // Error(kBadFile) where the sound cannot be decoded, a sample is not a finite number or there is more of it than the
  // options allow.
  virtual int64_t read(std::span<float> out) = 0;
};

// Opens a sound file, or a video with sound: WAV by itself, everything else with FFmpeg's libraries or
// program. What the bytes are
// decides, not the name. "-" is standard input. Throws Error(kIo) when it cannot be read, Error(kBadFile) when it is
// damaged or without sound, Error(kUnsupported) when this build cannot read its kind.
std::unique_ptr<AudioReader> open_audio(const std::filesystem::path& path, const AudioOptions& options = {});
// The same for a file in memory, under a name for messages; `owner` keeps the bytes alive (null: the caller does).
std::unique_ptr<AudioReader> open_audio_in_memory(std::string name, std::span<const std::byte> bytes,
                                                  std::shared_ptr<const void> owner, const AudioOptions& options = {});

// Samples that are there already, mono at 16 kHz; the caller keeps them.
std::unique_ptr<AudioReader> read_samples(std::span<const float> samples, std::string name = "the sound");

// All of it. Throws Error(kInvalidArgument) when there are more than `limit` samples.
std::vector<float> read_all(AudioReader& reader, int64_t limit);

}  // namespace wick
