#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wick::jinja {

// Python's view of characters in UTF-8 text. A byte that is not valid UTF-8 counts as one character.
int64_t count_characters(std::string_view text);
size_t character_bytes(std::string_view text);  // of the first character; the text is not empty
char32_t code_point(std::string_view character);
// The byte at which character `index` starts; the size of the text when there are fewer.
size_t byte_offset(std::string_view text, int64_t index);

// for (std::string_view character : Characters(text))
class Characters {
 public:
  class Iterator {
   public:
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    std::string_view operator*() const { return rest_.substr(0, character_bytes(rest_)); }
    Iterator& operator++() {
      rest_.remove_prefix(character_bytes(rest_));
      return *this;
    }
    bool operator!=(const Iterator& other) const { return rest_.size() != other.rest_.size(); }

   private:
    std::string_view rest_;
  };

  explicit Characters(std::string_view text) : text_(text) {}
  Iterator begin() const { return Iterator(text_); }
  Iterator end() const { return Iterator(text_.substr(text_.size())); }

 private:
  std::string_view text_;
};

bool is_printable(char32_t code);
bool is_alpha(char32_t code);
bool is_decimal(char32_t code);
bool is_digit(char32_t code);
bool is_numeric(char32_t code);
bool is_space(char32_t code);
bool is_upper(char32_t code);
bool is_lower(char32_t code);
bool is_title(char32_t code);
inline bool is_word(char32_t code) { return code == '_' || is_alpha(code) || is_numeric(code); }  // \w
inline bool is_cased(char32_t code) { return is_upper(code) || is_lower(code) || is_title(code); }

// Whole texts, with Python's mappings (one character may become several).
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_folded(std::string_view text);
std::string to_title(std::string_view text);        // the first character of each word, the rest lower
std::string to_capitalized(std::string_view text);  // the first character, the rest lower
std::string swap_case(std::string_view text);

std::string_view strip_left(std::string_view text);  // of white space
std::string_view strip_right(std::string_view text);

}  // namespace wick::jinja
