#pragma once

#include <memory>
#include <string>

#include "media/sample_source.h"

namespace wick {

// FFmpeg's libraries are optional (WICK_FFMPEG): ffmpeg.cpp or ffmpeg_absent.cpp is built.
bool has_ffmpeg();

// The first or default sound of whatever FFmpeg recognises. The file cannot make it open another file or address.
// Without FFmpeg: throws Error(kUnsupported) that says how to get it. `kind` is what the bytes look like, for messages.
// `is_cancelled` is as in AudioOptions.
std::unique_ptr<SampleSource> open_with_ffmpeg(ByteInput input, const std::string& kind,
                                               const std::function<bool()>& is_cancelled);

}  // namespace wick
