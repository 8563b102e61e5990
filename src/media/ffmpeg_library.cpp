#include "media/ffmpeg_library.h"

#include "base/shared_library.h"

namespace wick {
namespace {

constexpr std::string_view kNeed =
    "sound other than WAV is read and written with FFmpeg's libraries (tools/install-deps audio)";

FfmpegLibrary load() {
  const SharedLibrary avutil({cat("libavutil.so.", LIBAVUTIL_VERSION_MAJOR)}, kNeed);
  const SharedLibrary avcodec({cat("libavcodec.so.", LIBAVCODEC_VERSION_MAJOR)}, kNeed);
  const SharedLibrary avformat({cat("libavformat.so.", LIBAVFORMAT_VERSION_MAJOR)}, kNeed);
  FfmpegLibrary functions;
#define WICK_FIND(library, name) library.find(#name, functions.name);
  WICK_FFMPEG_FUNCTIONS(WICK_FIND)
#undef WICK_FIND
  functions.av_log_set_level(AV_LOG_QUIET);
  return functions;
}

}  // namespace

const FfmpegLibrary& ffmpeg_library() {
  static const FfmpegLibrary library = load();
  return library;
}

}  // namespace wick
