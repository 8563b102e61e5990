#pragma once

#include <string>

#include "tokenizer/stages/decoders.h"
#include "tokenizer/tokenizer.h"

namespace wick {

// Turns tokens into text as they come. Every answer is whole characters; all answers together, with finish(), are what
// Tokenizer::decode gives for all the tokens. Text is held back only while a later token could still change it. One
// sequence at a time, one thread at a time.
class Detokenizer {
 public:
  explicit Detokenizer(Tokenizer tokenizer, bool skip_special = false);

  std::string push(int id);
  // What was held back. Afterwards a new sequence can start.
  std::string finish();

 private:
  Tokenizer tokenizer_;
  bool skip_special_;
  DecodeChain chain_;
};

}  // namespace wick
