#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wick {

// What the tokens of a CTC model mean: vocab.json, and tokenizer_config.json where there is one.
struct CtcVocabulary {
  std::vector<std::string> pieces;  // empty text: nothing is written for it (padding, beginning, end, unknown)
  int32_t delimiter = -1;           // between words; -1: the model has no mark between words
  bool normalizes = true;           // the model wants sound of mean 0 and variance 1

  // `tokens`: how many the model has; `blank`: the one that means "nothing new". Throws Error(kIo) when there is no
  // vocab.json in the folder, Error(kBadFile) when it does not fit.
  static CtcVocabulary load(const std::filesystem::path& folder, int64_t tokens, int32_t blank);
};

}  // namespace wick
