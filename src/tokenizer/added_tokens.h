#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "tokenizer/models/byte_trie.h"
#include "tokenizer/span.h"

namespace wick {

// What text may do with the control tokens it spells out.
enum class SpecialTokens : uint8_t {
  kAllow,   // "<|im_end|>" becomes that token
  kForbid,  // Error(kInvalidArgument)
  kAsText,  // its letters are ordinary text: what a user writes never becomes a control token
};

// A token that is cut out of the text before anything else looks at it.
struct AddedToken {
  std::string content;
  int id = 0;
  bool single_word = false;  // only where it does not touch a word
  bool lstrip = false;       // takes the blanks before it along
  bool rstrip = false;       // takes the blanks after it along
  bool normalized = false;   // is looked for in the normalised text
  bool special = false;      // a control token: SpecialTokens applies, and decoding can leave it out
};

// Finds added tokens in text: leftmost first, then longest. Thread-safe once filled.
class AddedTokens {
 public:
  // `pattern` is what to look for: the content, or its normalised form. An empty one is never found.
  void add(AddedToken token, std::string_view pattern);

  const std::vector<AddedToken>& all() const { return tokens_; }
  bool has_normalized() const { return !normalized_.empty(); }

  struct Part {
    Span bytes;
    const AddedToken* token = nullptr;  // null: ordinary text
  };
  // Cuts the whole of the text, valid UTF-8, into tokens and what lies between them. Control tokens at bytes that are
  // `broken` stay ordinary text.
  std::vector<Part> cut(std::string_view text, bool in_normalized, SpecialTokens special,
                        FunctionRef<bool(Span)> broken) const;

 private:
  std::vector<AddedToken> tokens_;
  ByteTrie plain_, normalized_;  // values are indices into tokens_
  bool plain_starts_[256] = {}, normalized_starts_[256] = {};
};

}  // namespace wick
