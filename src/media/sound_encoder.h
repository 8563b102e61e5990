#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// Mono samples to the bytes of a sound file, piece by piece. One thread at a time.
class SoundEncoder {
 public:
  virtual ~SoundEncoder() = default;
  virtual std::string push(std::span<const float> samples) = 0;  // what is complete
  virtual std::string finish() = 0;
};

struct SoundFormat {
  std::string_view name;          // "mp3", also how files end
  std::string_view content_type;  // of HTTP
};
// wav, and those that FFmpeg's libraries write: mp3, flac, opus, aac.
std::span<const SoundFormat> sound_formats();
// Empty: "voice.wav" and the like; else the format a file's name ends with, "wav" for those that are none.
std::string sound_format_of(std::string_view file_name);

// Of sound whose length is not known; `comment` is noted in the file where it has a place for that. Throws
// Error(kInvalidArgument) for a format that there is not, Error(kUnsupported) where FFmpeg's libraries are needed and
// not there, or cannot write it.
std::unique_ptr<SoundEncoder> make_sound_encoder(std::string_view format, int sample_rate, const std::string& comment);

// With FFmpeg's libraries, or a sentence that they are not there.
std::unique_ptr<SoundEncoder> make_ffmpeg_encoder(std::string_view format, int sample_rate, const std::string& comment);

}  // namespace wick
