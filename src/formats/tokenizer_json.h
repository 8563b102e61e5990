#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"

namespace wick {

// What a Hugging Face tokenizer.json holds, as far as other formats need it. The vocabulary and the merges are read
// front to back, so a file of 150,000 tokens takes a fraction of a second.
struct TokenizerJson {
  enum class Model : uint8_t { kBpe, kWordPiece, kUnigram, kWordLevel };
  struct Token {
    int64_t id = 0;
    std::string text;
  };
  struct Added {
    int64_t id = 0;
    std::string text;
    bool special = false;
  };

  Model model = Model::kBpe;
  std::vector<Token> tokens;        // of the model, in file order; those of a Unigram model are counted only
  int64_t model_tokens = 0;         // how many
  std::vector<Added> added;         // in file order; may repeat tokens of the model
  std::vector<std::string> merges;  // "left right"
  bool byte_fallback = false;       // unknown characters become bytes <0x00> to <0xFF>
  bool ignore_merges = false;       // a word that is a token is not taken apart
  std::string unknown;              // the token for what is not known; may be empty
  Json normalizer, pre_tokenizer, post_processor;

  // Throws Error(kBadFile) naming the field at fault.
  static TokenizerJson load(const std::filesystem::path& path);
  static TokenizerJson parse(std::string_view text, const std::string& source);

  // Ids run from 0 to this, added ones included.
  int64_t size() const;
};

std::string_view to_string(TokenizerJson::Model model);  // "BPE", "WordPiece", ...

}  // namespace wick
