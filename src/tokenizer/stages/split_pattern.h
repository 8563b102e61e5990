#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/span.h"

namespace wick {

// The two families of expressions that most byte-level tokenizers split text with, matched by hand: several times
// faster than any engine. tests/tokenizer/split_pattern_test.cpp holds them against PCRE2.
enum class KnownPattern : uint8_t {
  kGpt2,    // GPT-2, Whisper, RoBERTa, GPT-NeoX
  kWords1,  // Qwen 2 and later: digits one by one
  kWords3,  // Llama 3, GPT-4: digits in groups of three
};

inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kWords1Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view kWords3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Punctuation of Unicode, and the symbols of ASCII.
inline constexpr std::string_view kPunctuationRuns = R"([\p{P}\$\+<=>\^~\|`]+)";

std::string_view text_of(KnownPattern pattern);
std::optional<KnownPattern> known_pattern(std::string_view regex);

// Appends the matches inside bytes `part` of valid UTF-8. They cover it without gaps.
void split_known(KnownPattern pattern, std::string_view text, Span part, std::vector<Span>& out);

}  // namespace wick
