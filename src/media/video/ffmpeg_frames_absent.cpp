#include "base/error.h"
#include "base/text.h"
#include "media/video/ffmpeg_frames.h"

namespace wick {

Video read_with_ffmpeg(std::span<const std::byte>, const std::string& name, const VideoOptions&) {
  throw Error(
      ErrorCode::kUnsupported,
      cat(name, ": video is read with FFmpeg's libraries, which this build is without (tools/install-deps audio)"));
}

}  // namespace wick
