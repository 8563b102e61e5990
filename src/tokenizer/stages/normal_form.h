#pragma once

#include <cstdint>
#include <string_view>

#include "tokenizer/stages/aligned_text.h"

namespace wick {

enum class NormalForm : uint8_t { kNfc, kNfd, kNfkc, kNfkd };

// True when every character is inert in that form: unchanged on its own and joined to no character before it. Then the
// text is in that form already; false says nothing.
bool is_plainly_normal(std::string_view text, NormalForm form);

// Unicode normalisation. Only stretches that hold a character which is not inert are handed to utf8proc.
void normalize(AlignedText& text, NormalForm form);

}  // namespace wick
