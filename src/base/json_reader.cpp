#include "base/json_reader.h"

#include <charconv>
#include <vector>

#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

}  // namespace

JsonReader::JsonReader(std::string_view text, std::string source) : text_(text), source_(std::move(source)) {
  const size_t bad = find_invalid_utf8(text);
  if (bad != std::string_view::npos) {
    at_ = bad;
    throw syntax("invalid UTF-8");
  }
}

Error JsonReader::syntax(std::string_view what) const {
  return {ErrorCode::kBadFile, cat(source_, ": not valid JSON at byte ", at_, ": ", what)};
}

Error JsonReader::bad_place(std::string_view what) const {
  std::string place = source_;
  if (!noun_.empty() || !name_.empty()) place += ": ";
  place += noun_;
  if (!name_.empty()) place += cat(noun_.empty() ? "" : " ", in_quotes(name_));
  if (!field_.empty()) place += cat(": ", in_quotes(field_));
  return {ErrorCode::kBadFile, cat(place, place == source_ ? ": the text " : " ", what)};
}

Error JsonReader::wrong_kind(std::string_view expected) {
  const char c = peek();
  std::string_view kind;
  if (c == '{') kind = "an object";
  if (c == '[') kind = "a list";
  if (c == '"') kind = "text";
  const std::string_view rest = text_.substr(at_);
  if (rest.starts_with("null")) kind = "null";
  if (rest.starts_with("true") || rest.starts_with("false")) kind = "true or false";
  if (c == '-' || is_digit(c)) kind = "a number";
  if (kind.empty()) return syntax(cat("expected ", expected));
  return bad_place(cat("is ", kind, ", expected ", expected));
}

char JsonReader::peek() {
  while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

void JsonReader::expect(char character) {
  if (peek() != character) throw syntax(cat("expected '", character, "'"));
  ++at_;
}

void JsonReader::begin(char bracket, std::string_view expected) {
  if (peek() != bracket) throw wrong_kind(expected);
  ++at_;
  fresh_ = true;
}

void JsonReader::begin_object() { begin('{', "an object"); }
void JsonReader::begin_list() { begin('[', "a list"); }

bool JsonReader::next(char closing) {
  const bool first = fresh_;
  fresh_ = false;
  const char c = peek();
  if (c == closing) {
    ++at_;
    return false;
  }
  if (!first) {
    if (c != ',') throw syntax(cat("expected ',' or '", closing, "'"));
    ++at_;
  }
  return true;
}

bool JsonReader::next_name(std::string& name) {
  if (!next('}')) return false;
  if (peek() != '"') throw syntax("expected a name in quotes");
  name.clear();
  read_text(name);
  expect(':');
  return true;
}

bool JsonReader::next_item() { return next(']'); }

std::string JsonReader::text() {
  if (peek() != '"') throw wrong_kind("text");
  std::string out;
  read_text(out);
  return out;
}

void JsonReader::read_text(std::string& out) {
  ++at_;  // the opening quote
  while (true) {
    const size_t start = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' && static_cast<uint8_t>(text_[at_]) >= 0x20) {
      ++at_;
    }
    out += text_.substr(start, at_ - start);
    if (at_ == text_.size()) throw syntax("text without a closing quote");
    const char c = text_[at_];
    if (c != '"' && c != '\\') throw syntax("a control character inside text");
    ++at_;
    if (c == '"') return;
    read_escape(out);
  }
}

void JsonReader::read_escape(std::string& out) {
  constexpr std::string_view kCodes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  const char code = at_ < text_.size() ? text_[at_] : '\0';
  if (const size_t known = kCodes.find(code); code && known != std::string_view::npos) {
    ++at_;
    out += kMeanings[known];
    return;
  }
  if (code != 'u') throw syntax("an unknown escape");
  ++at_;
  uint32_t unit = read_hex();
  if (unit >= 0xD800 && unit < 0xDC00 && text_.substr(at_, 2) == "\\u") {
    at_ += 2;
    const uint32_t low = read_hex();
    if (low < 0xDC00 || low > 0xDFFF) throw syntax("half of a surrogate pair");
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  if (unit >= 0xD800 && unit <= 0xDFFF) throw syntax("half of a surrogate pair");
  append_utf8(out, unit);
}

uint32_t JsonReader::read_hex() {
  uint32_t value = 0;
  const char* begin = text_.data() + at_;
  const bool enough = text_.size() - at_ >= 4;
  if (!enough || std::from_chars(begin, begin + 4, value, 16).ptr != begin + 4) {
    throw syntax("expected four hexadecimal digits");
  }
  at_ += 4;
  return value;
}

std::string_view JsonReader::read_number() {
  const size_t start = at_;
  const auto here = [&] { return at_ < text_.size() ? text_[at_] : '\0'; };
  const auto digits = [&] {
    if (!is_digit(here())) throw syntax("expected a digit");
    while (is_digit(here())) ++at_;
  };
  if (here() == '-') ++at_;
  if (here() == '0') {
    ++at_;
    if (is_digit(here())) throw syntax("a number that starts with 0");
  } else {
    digits();
  }
  if (here() == '.') {
    ++at_;
    digits();
  }
  if (here() == 'e' || here() == 'E') {
    ++at_;
    if (here() == '+' || here() == '-') ++at_;
    digits();
  }
  return text_.substr(start, at_ - start);
}

int64_t JsonReader::integer() {
  const char c = peek();
  if (c != '-' && !is_digit(c)) throw wrong_kind("a whole number");
  const std::string_view number = read_number();
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (problem == std::errc::result_out_of_range) {
    throw bad_place(cat("is ", in_quotes(number), ", which is out of range"));
  }
  if (end != number.data() + number.size()) {
    throw bad_place(cat("is ", in_quotes(number), ", expected a whole number"));
  }
  return value;
}

void JsonReader::skip_word() {
  for (const std::string_view word : {"true", "false", "null"}) {
    if (text_.substr(at_, word.size()) == word) {
      at_ += word.size();
      return;
    }
  }
  throw syntax("expected a value");
}

void JsonReader::skip() {
  std::vector<char> open;  // the closing brackets still to come
  std::string name;
  do {
    const char c = peek();
    if (c == '{' || c == '[') {
      if (open.size() == kMaxDepth) throw syntax(cat("nested more than ", kMaxDepth, " levels deep"));
      open.push_back(c == '{' ? '}' : ']');
      ++at_;
      fresh_ = true;
    } else if (c == '"') {
      name.clear();
      read_text(name);
    } else if (c == '-' || is_digit(c)) {
      read_number();
    } else {
      skip_word();
    }
    while (!open.empty() && !(open.back() == '}' ? next_name(name) : next_item())) open.pop_back();
  } while (!open.empty());
}

void JsonReader::finish() {
  peek();
  if (at_ != text_.size()) throw syntax("text after the end of the document");
}

}  // namespace wick
