#pragma once

#include <cstdint>
#include <vector>

#include "tokenizer/span.h"

namespace wick {

// Tokens with what is known about them; all lists have the same length.
struct Encoding {
  std::vector<int> ids;
  std::vector<Span> offsets;            // bytes of the text each came from; empty for tokens that were added
  std::vector<int> type_ids;            // 0 for the first text, 1 for the second, or as the file says
  std::vector<uint8_t> special_mask;    // 1: added around the text
  std::vector<uint8_t> attention_mask;  // 0: padding
};

struct Truncation {
  enum class Strategy : uint8_t { kLongestFirst, kOnlyFirst, kOnlySecond };
  int64_t max_length = 0;  // tokens, those added around the text included
  Strategy strategy = Strategy::kLongestFirst;
  bool from_left = false;  // drop tokens at the start
};

struct Padding {
  int64_t length = 0;       // 0: to the longest of the batch
  int64_t multiple_of = 0;  // 0: any length
  int pad_id = 0;
  int pad_type_id = 0;
  bool on_left = false;
};

}  // namespace wick
