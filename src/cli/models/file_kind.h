#pragma once

#include <filesystem>
#include <string>

namespace wick {

// For a file that is certainly no model (a text, a sound, an image, ...): what it is and which command takes it, as the
// end of a sentence: "is a sound or video file (WAV); `wick transcribe talk.wav` writes down what is said". Empty for
// models, what is called like one, folders and what is not known; they are for those who open models to judge.
std::string other_kind_of_file(const std::filesystem::path& path);

}  // namespace wick
