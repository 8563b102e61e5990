#pragma once

#include <filesystem>

#include "base/json.h"
#include "formats/metadata.h"

namespace wick {

// The keys "tokenizer.*" of a GGUF file for the tokenizer of a Hugging Face folder: byte-level BPE ("gpt2"), BPE in the
// manner of SentencePiece ("llama") and WordPiece ("bert"), with special tokens and chat templates. `config` is the
// text model's config.json: its vocab_size decides how many tokens there are. Throws Error(kUnsupported) saying what
// cannot be expressed, Error(kBadFile) naming the field at fault.
Metadata gguf_tokenizer(const std::filesystem::path& folder, const Json& config);

// True when the folder holds a tokenizer in any form.
bool has_tokenizer(const std::filesystem::path& folder);

}  // namespace wick
