#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/vocabulary.h"

namespace wick {

// "<0x0A>": the token that SentencePiece vocabularies have for a byte.
std::string byte_token(unsigned char byte);
std::optional<unsigned char> byte_of_token(std::string_view piece);

// Their ids, by byte; Vocabulary::kNone where there is none.
std::array<int, 256> byte_token_ids(const Vocabulary& vocabulary);

}  // namespace wick
