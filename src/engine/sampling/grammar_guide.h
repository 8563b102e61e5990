#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grammar/grammar.h"

namespace wick {

// What may stand before the text that a grammar describes: in tokens, since markers may be control tokens, which no
// grammar can hold. -1: there is no such token.
struct GrammarStart {
  int32_t think_open = -1, think_close = -1;  // what is between them is free
  bool is_thinking = false;                   // the prompt has opened the block
  int32_t leave = -1;                         // instead of the grammar's text: everything behind it is free
  std::vector<int32_t> forced;                // right before the grammar's text

  bool operator==(const GrammarStart&) const = default;
};

// Which tokens may come next where a grammar says what an answer may look like. One thread at a time.
class GrammarGuide {
 public:
  GrammarGuide(const Grammar& grammar, const GrammarStart& start, std::shared_ptr<const TokenVocabulary> vocabulary,
               int64_t vocabulary_size);

  // A bit per token; empty: all may come. Throws Error(kInvalidArgument) when none may.
  std::span<const uint32_t> mask();
  void accept(int32_t token);

 private:
  enum class Stage : uint8_t { kBeginning, kThinking, kThought, kInside, kFree };
  void allow(int32_t token);

  GrammarStart start_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  GrammarState state_;
  std::vector<uint32_t> mask_;
  Stage stage_;
  size_t forced_ = 0;  // of start_.forced, how many have come
};

}  // namespace wick
