#pragma once

#include <filesystem>
#include <string_view>

#include "base/mapped_file.h"

namespace wick {

// The file to open for a folder: model.safetensors or its index, the names diffusers uses, else the only .safetensors
// or .gguf file (the first part of a split one), else the only ggml-*.bin of whisper.cpp, else pytorch_model.bin.
// Throws Error(kBadFile) naming what was found when there is no such file, or several.
std::filesystem::path find_weights(const std::filesystem::path& folder);

enum class FileKind { kSafetensors, kSafetensorsIndex, kGguf, kGgmlWhisper, kTorch };

// What a file is by its first bytes. Throws Error(kBadFile) naming the kind when it is one that people mistake for
// weights: a bare pickle, an old ggml file, a Git LFS pointer, a web page.
FileKind detect_kind(const MappedFile& file);

}  // namespace wick
