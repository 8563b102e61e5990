#pragma once

#include "formats/byte_reader.h"

namespace wick {

// Reads `count` key and value pairs of a GGUF file.
Metadata read_gguf_metadata(ByteReader& reader, uint64_t count, const std::shared_ptr<const MappedFile>& file);

// Bytes of one value of a fixed size; 0 for text and arrays.
int64_t size_of(MetaType type);

}  // namespace wick
