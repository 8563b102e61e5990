#include "base/error.h"
#include "base/text.h"
#include "media/ffmpeg.h"

namespace wick {

bool has_ffmpeg() { return false; }

std::unique_ptr<SampleSource> open_with_ffmpeg(ByteInput input, const std::string& kind, const std::function<bool()>&) {
  throw Error(ErrorCode::kUnsupported,
              cat(input.name(), ": this build reads WAV only and the file is ", kind,
                  "; convert it, or run tools/install-deps audio and build with -DWICK_FFMPEG=ON"));
}

}  // namespace wick
