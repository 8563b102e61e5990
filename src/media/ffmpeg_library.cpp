#include "media/ffmpeg_library.h"

#include <dlfcn.h>

#include <string>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

// Stays open until the program ends: its threads and tables must not go before those who use them.
void* open_library(const std::string& name) {
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    throw Error(
        ErrorCode::kUnsupported,
        cat("FFmpeg's libraries, which this build reads sound other than WAV with, cannot be loaded: ", dlerror()));
  }
  return library;
}

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function) throw Error(ErrorCode::kUnsupported, cat("FFmpeg's libraries have no ", name));
}

FfmpegLibrary load() {
  void* avutil = open_library(cat("libavutil.so.", LIBAVUTIL_VERSION_MAJOR));
  void* avcodec = open_library(cat("libavcodec.so.", LIBAVCODEC_VERSION_MAJOR));
  void* avformat = open_library(cat("libavformat.so.", LIBAVFORMAT_VERSION_MAJOR));
  FfmpegLibrary functions;
#define WICK_FIND(library, name) find(library, #name, functions.name);
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
