#pragma once

#include <span>
#include <string>

#include "media/video/video.h"

namespace wick {

// FFmpeg's libraries are optional (WICK_FFMPEG): ffmpeg_frames.cpp or ffmpeg_frames_absent.cpp is built.
Video read_with_ffmpeg(std::span<const std::byte> bytes, const std::string& name, const VideoOptions& options);

}  // namespace wick
