#pragma once

#include <string>

#include "formats/metadata.h"
#include "text/gguf_vocabulary.h"

namespace wick {

// The vocabulary in the metadata of a GGUF file, whose texts it keeps looking at. Throws Error(kBadFile) naming the key
// that is missing or of the wrong kind.
GgufVocabulary gguf_vocabulary_of(const Metadata& metadata, const std::string& source);

}  // namespace wick
