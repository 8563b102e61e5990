#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// The keys "tokenizer.ggml.*" of a GGUF file. Views must outlive the call that reads them. Empty lists and optionals
// stand for missing keys.
struct GgufVocabulary {
  // Kinds of tokens, with the numbers of the format.
  enum TokenType : int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

  std::string source = "GGUF file";  // names the file in messages
  std::string model;                 // gpt2, llama, bert, t5, rwkv
  std::string pre;                   // of gpt2: how text is split
  std::vector<std::string_view> tokens;
  std::vector<float> scores;
  std::vector<int32_t> token_types;
  std::vector<std::string_view> merges;  // "left right"
  std::string precompiled_charsmap;      // of t5: bytes
  std::optional<int64_t> bos_id, eos_id, unk_id, sep_id, pad_id;
  std::optional<bool> add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces;
};

}  // namespace wick
