#include "base/error.h"
#include "base/text.h"
#include "media/ffmpeg.h"
#include "media/sound_encoder.h"

namespace wick {

bool has_ffmpeg() { return false; }

std::unique_ptr<SampleSource> open_with_ffmpeg(ByteInput input, const std::string& kind, const std::function<bool()>&) {
  throw Error(ErrorCode::kUnsupported,
              cat(input.name(), ": the file is ", kind,
                  ", and sound other than WAV is read with ffmpeg, which is not installed (apt install ffmpeg)"));
}

std::unique_ptr<SoundEncoder> make_ffmpeg_encoder(std::string_view format, int, const std::string&) {
  throw Error(ErrorCode::kUnsupported, cat("this build has no FFmpeg, which writes ", format, "; wav always works"));
}

}  // namespace wick
