#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "media/sample_source.h"

namespace wick {

// The program `ffmpeg` of the PATH, for builds and systems without its libraries. Only absolute folders of the PATH are
// looked at. Empty where there is none, and on systems that start no programs.
std::optional<std::filesystem::path> find_ffmpeg_program();

// As open_with_ffmpeg(), with that program: it gets the file as its standard input (sound in memory or from a pipe is
// copied first, so a pipe is read to its end) and writes WAV into a pipe, which is read as sound is asked for. It is
// started without a shell, may open no address and no format that names other files, write no file, and is ended when
// the source goes, when it is cancelled, and when it takes too much time or memory.
std::unique_ptr<SampleSource> open_with_ffmpeg_program(const std::filesystem::path& program, ByteInput input,
                                                       const std::function<bool()>& is_cancelled);

// How sound other than WAV is read here: "FFmpeg's libraries", "the program /usr/bin/ffmpeg"; empty: it is not.
std::string ffmpeg_way();

}  // namespace wick
