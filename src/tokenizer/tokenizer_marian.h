#pragma once

#include <filesystem>

#include "tokenizer/tokenizer.h"

namespace wick {

// A folder of Marian (Opus-MT): source.spm cuts texts, vocab.json has the ids of its pieces, those of the target's
// among them. Texts end with </s>; ">>fra<<" at their beginning names a language. Throws Error(kBadFile) naming the
// piece or the field at fault, Error(kUnsupported) when pieces of source.spm have no id.
bool is_marian_folder(const std::filesystem::path& folder);
Tokenizer load_marian(const std::filesystem::path& folder);

}  // namespace wick
