#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "tokenizer/encoding.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// What is put around the text: a list of tokens and places for the first (A) and second (B) text.
struct TemplatePart {
  enum class Kind : uint8_t { kFirst, kSecond, kTokens };
  Kind kind = Kind::kFirst;
  int type_id = 0;
  std::vector<int> ids;  // of kTokens
};

// All post-processors come down to two templates, and to whether offsets leave out blanks.
struct PostProcessor {
  std::vector<TemplatePart> single = {{TemplatePart::Kind::kFirst, 0, {}}};
  std::vector<TemplatePart> pair = {{TemplatePart::Kind::kFirst, 0, {}}, {TemplatePart::Kind::kSecond, 1, {}}};
  bool has_template = false;
  bool trim_offsets = false;
  bool add_prefix_space = false;

  // The number of tokens added around the text.
  size_t added(bool is_pair) const;
  Encoding apply(Encoding first, const Encoding* second, bool add_special) const;
};

// From the "post_processor" of a tokenizer.json. Ids must be in the vocabulary. Throws Error(kBadFile).
PostProcessor read_postprocessor(const Json& json, const Vocabulary& vocabulary);

// Tokens before and after the text, as GGUF files say it.
PostProcessor surround(std::vector<int> before, std::vector<int> after);

// Shortens both texts so that they fit with `added` tokens around them. Throws Error(kInvalidArgument).
void truncate(Encoding& first, Encoding* second, const Truncation& truncation, size_t added);
void pad(Encoding& encoding, size_t length, const Padding& padding);

}  // namespace wick
