#pragma once

#include <string_view>
#include <vector>

#include "formats/file_contents.h"

namespace wick {

inline constexpr std::string_view kGgmlMagic = "lmgg";  // 'ggml' as a little-endian number

// What a file of whisper.cpp (ggml-base.en.bin) says, with the names and the settings of Hugging Face: whoever reads
// weights by name need not know that there is such a format.
struct GgmlWhisper {
  FileContents contents;
  Json config;
};

// Reads and checks the whole file but the tensors' numbers. Throws Error(kBadFile) naming what is at fault.
//
// Layout: u32 'ggml' | i32 settings x 11 | i32 mel bins, i32 frequencies | f32 filters | i32 tokens | tokens | tensors
//   settings: vocabulary, audio positions, width, heads, layers, text positions, width, heads, layers, mel bins, type
//   token:    u32 length | bytes
//   tensor:   i32 rank, i32 length of the name, i32 type | i32 sizes, innermost first | name | data, unaligned
GgmlWhisper read_ggml_whisper(const MappedFile& file, int file_index);

// The bytes of its tokens, by id; control tokens, and those that stand for times, are mostly left out by the writers.
// Views of the file.
std::vector<std::string_view> read_ggml_vocabulary(const MappedFile& file);

}  // namespace wick
