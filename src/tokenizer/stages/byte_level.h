#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/stages/aligned_text.h"

namespace wick {

// GPT-2's way of writing bytes as letters: printable bytes stand for themselves, the others for U+0100 and up.
const std::array<char32_t, 256>& byte_letters();

// The byte a letter stands for; empty for any other character.
std::optional<uint8_t> byte_of_letter(char32_t letter);

std::string bytes_to_letters(std::string_view bytes);
void bytes_to_letters(AlignedText& text);

// The bytes that a piece stands for; empty when one of its characters stands for none.
std::optional<std::string> letters_to_bytes(std::string_view letters);

}  // namespace wick
