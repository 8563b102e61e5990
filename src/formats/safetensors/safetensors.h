#pragma once

#include "formats/file_contents.h"

namespace wick {

// How the format spells an element type.
struct SafetensorsType {
  std::string_view name;
  int bits;
  std::optional<DType> dtype;  // of the tensor read from it; empty: can be listed but not read
};
const SafetensorsType* safetensors_type(std::string_view name);
// The type that holds a dtype; null when the format has none.
const SafetensorsType* safetensors_type(DType dtype);

// The format's own library refuses longer headers.
inline constexpr int64_t kMaxSafetensorsHeader = 100'000'000;

// Reads and checks the header of a .safetensors file. `file_index` becomes TensorEntry::file.
//
// Layout: u64 header length (little endian) | JSON header: name -> {dtype, shape, data_offsets [begin, end]} | data
// The tensors cover the data exactly: no gap, no overlap, nothing left over.
FileContents read_safetensors(const MappedFile& file, int file_index);

}  // namespace wick
