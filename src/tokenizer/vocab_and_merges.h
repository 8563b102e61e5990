#pragma once

#include <filesystem>
#include <string>

namespace wick {

// The tokenizer.json that vocab.json, merges.txt and tokenizer_config.json of a folder stand for: the older files of
// byte-level BPE, as Qwen's speech models have them. Throws Error(kUnsupported) for a tokenizer_class whose way of
// cutting text is not known, Error(kBadFile) naming what is wrong.
std::string join_vocab_and_merges(const std::filesystem::path& folder);

}  // namespace wick
