#include "media/sound_encoder.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/text.h"
#include "media/wav_writer.h"

namespace wick {
namespace {

constexpr SoundFormat kFormats[] = {
    {"wav", "audio/wav"}, {"mp3", "audio/mpeg"}, {"flac", "audio/flac"}, {"opus", "audio/ogg"}, {"aac", "audio/aac"}};

class WavEncoder final : public SoundEncoder {
 public:
  WavEncoder(int sample_rate, const std::string& comment) {
    WavHeader header;
    header.sample_rate = sample_rate;
    header.comment = comment;
    front_ = wav_header(header);
  }
  std::string push(std::span<const float> samples) override {
    std::string bytes;
    bytes.swap(front_);
    return bytes + pcm16_bytes(samples);
  }
  std::string finish() override { return push({}); }

 private:
  std::string front_;  // not given yet
};

}  // namespace

std::span<const SoundFormat> sound_formats() { return kFormats; }

std::string sound_format_of(std::string_view file_name) {
  const size_t point = file_name.rfind('.');
  if (point == std::string_view::npos) return "wav";
  const std::string ending = lower_ascii(file_name.substr(point + 1));
  const auto* found = std::find_if(std::begin(kFormats), std::end(kFormats),
                                   [&](const SoundFormat& format) { return format.name == ending; });
  return found == std::end(kFormats) ? "wav" : ending;
}

std::unique_ptr<SoundEncoder> make_sound_encoder(std::string_view format, int sample_rate, const std::string& comment) {
  if (format == "wav") return std::make_unique<WavEncoder>(sample_rate, comment);
  const bool is_known = std::any_of(std::begin(kFormats), std::end(kFormats),
                                    [&](const SoundFormat& known) { return known.name == format; });
  if (!is_known) throw Error(ErrorCode::kInvalidArgument, cat("sound is not written as '", format, "'"));
  return make_ffmpeg_encoder(format, sample_rate, comment);
}

}  // namespace wick
