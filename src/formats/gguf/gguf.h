#pragma once

#include "formats/file_contents.h"

namespace wick {

inline constexpr std::string_view kGgufMagic = "GGUF";
inline constexpr uint32_t kGgufAlignment = 32;  // unless 'general.alignment' says otherwise
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";

// Reads and checks the header of a GGUF file, version 2 or 3. `file_index` becomes TensorEntry::file. The metadata's
// arrays view the file and keep it open.
//
// Layout: "GGUF" | u32 version | u64 tensors | u64 keys | keys | tensors | padding | data
//   key:    text name | u32 type | value; an array is u32 element type | u64 count | elements
//   tensor: text name | u32 rank | u64 sizes, innermost first | u32 type | u64 offset within the data
FileContents read_gguf(const std::shared_ptr<const MappedFile>& file, int file_index);

}  // namespace wick
