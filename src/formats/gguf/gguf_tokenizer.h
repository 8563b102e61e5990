#pragma once

#include <filesystem>

#include "base/json.h"
#include "formats/metadata.h"
#include "tokenizer/gguf_vocabulary.h"

namespace wick {

// The vocabulary in the metadata of a GGUF file, whose texts it keeps looking at. Throws Error(kBadFile) naming the key
// that is missing or of the wrong kind.
GgufVocabulary gguf_vocabulary_of(const Metadata& metadata, const std::string& source);

// The keys "tokenizer.*" of a GGUF file for the tokenizer of a Hugging Face folder: byte-level BPE ("gpt2"), BPE in the
// manner of SentencePiece ("llama") and WordPiece ("bert"), with special tokens and chat templates. `config` is the
// text model's config.json: its vocab_size decides how many tokens there are. Throws Error(kUnsupported) saying what
// cannot be expressed, Error(kBadFile) naming the field at fault.
Metadata gguf_tokenizer(const std::filesystem::path& folder, const Json& config);

// True when the folder holds a tokenizer in any form.
bool has_tokenizer(const std::filesystem::path& folder);

}  // namespace wick
