#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace wick::grammar {

// Reads a notation character by character. Every error is Error(kInvalidArgument) that begins with `what` and names
// line and column, or for a single line the column.
class TextReader {
 public:
  TextReader(std::string_view text, std::string what) : text_(text), what_(std::move(what)) {}

  bool at_end() const { return at_ >= text_.size(); }
  size_t offset() const { return at_; }
  // The next byte, or 0 at the end.
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip(size_t bytes = 1) { at_ += bytes; }
  bool take(std::string_view expected);
  void expect(std::string_view expected);
  // The next character. Invalid UTF-8 is an error.
  uint32_t take_codepoint();
  // Exactly that many hexadecimal digits.
  uint32_t take_hex(int digits);
  // A decimal number up to `max`; empty when there is no digit.
  std::optional<int64_t> take_number(int64_t max);

  Error error(std::string_view problem) const { return error_at(at_, problem); }
  Error error_at(size_t offset, std::string_view problem) const;

 private:
  std::string_view text_;
  std::string what_;
  size_t at_ = 0;
};

}  // namespace wick::grammar
