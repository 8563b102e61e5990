#pragma once

#include <string_view>

#include "formats/tokenizer_json.h"

namespace wick {

// GGUF files do not hold the patterns by which a byte-level BPE tokenizer cuts text into words, only a name for them
// (tokenizer.ggml.pre). The name of this tokenizer's patterns; throws Error(kUnsupported) that shows the patterns when
// GGUF has no name for them.
std::string_view gguf_pre_tokenizer(const TokenizerJson& tokenizer);

// True when the tokenizer puts a space in front of the text, as SentencePiece does.
bool adds_space_prefix(const TokenizerJson& tokenizer);

}  // namespace wick
