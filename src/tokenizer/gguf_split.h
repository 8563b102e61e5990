#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// GGUF files do not hold the expressions by which a byte-level BPE tokenizer cuts text into words, only a name for them
// (tokenizer.ggml.pre). The one table of those names, for reading and for writing.
struct GgufSplit {
  std::vector<std::string_view> patterns;  // applied one after the other, each cuts out its matches
  bool ignore_merges = false;
  bool add_bos = false;  // unless the file says otherwise
};
// Empty when the name is not known.
std::optional<GgufSplit> gguf_split(std::string_view pre);
// The name for what PreTokenizer::list_patterns() lists; empty when there is none.
std::optional<std::string_view> gguf_split_name(const std::vector<std::string>& patterns, bool ignore_merges);

}  // namespace wick
