#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/detokenizer.h"

namespace wick {

// Tokens to text for somebody who reads along. Text that could still turn out to be the beginning of a stop string is
// held back, so that no part of one is ever shown.
class TextStream {
 public:
  // `show_special`: control tokens are part of the text.
  TextStream(Tokenizer tokenizer, std::vector<std::string> stop_strings, bool show_special = false);

  // The text that has become certain. After a stop string was found, nothing more comes.
  std::string push(int32_t token);
  // The end: what was held back.
  std::string finish();

  bool stopped() const { return !found_.empty(); }
  const std::string& found() const { return found_; }  // the stop string; empty: none so far

 private:
  std::string release(bool final);

  Detokenizer detokenizer_;
  std::vector<std::string> stops_;
  std::string held_;
  std::string found_;
};

}  // namespace wick
