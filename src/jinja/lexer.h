#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value.h"

namespace wick::jinja {

enum class TokenKind : uint8_t {
  kData,
  kPrintBegin,
  kPrintEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kText,
  kNumber,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;  // data, name, operator, or the contents of a literal
  Value value;       // of a number
};

struct LexerOptions {
  bool trim_blocks = true;
  bool lstrip_blocks = true;
  bool keep_trailing_newline = false;
};

// Splits a template into tokens by Jinja2's rules of white space. Throws Error(kBadFile) with the line.
std::vector<Token> tokenize(std::string_view source, const LexerOptions& options);

// "line 3: ..." as the error of a template that cannot be read.
Error syntax_error(int line, std::string_view message);

}  // namespace wick::jinja
