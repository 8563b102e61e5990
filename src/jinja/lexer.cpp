#include "jinja/lexer.h"

#include <algorithm>
#include <array>

#include "base/utf8.h"
#include "jinja/builtins/characters.h"
#include "jinja/literals.h"

namespace wick::jinja {
namespace {

std::string normalized_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  return out;
}

bool is_name_start(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<uint8_t>(c) >= 0x80;
}
bool is_digit_character(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  Lexer(std::string_view source, const LexerOptions& options) : source_(source), options_(options) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    add(TokenKind::kEnd, {});
    return std::move(tokens_);
  }

 private:
  // Finds the next tag and adds the text before it.
  void root() {
    size_t open = at_;
    while ((open = source_.find('{', open)) != source_.npos) {
      const char next = open + 1 < source_.size() ? source_[open + 1] : '\0';
      if (next == '{' || next == '%' || next == '#') break;
      ++open;
    }
    if (open == source_.npos) {
      add_data(source_.substr(at_));
      advance(source_.size());
      return;
    }
    const char kind = source_[open + 1];
    const char sign = open + 2 < source_.size() ? source_[open + 2] : '\0';
    add_data(stripped(source_.substr(at_, open - at_), sign, kind != '{'));
    advance(open + 2 + (sign == '-' || sign == '+'));
    line_starting_ = false;
    if (kind == '#') {
      comment();
    } else if (kind == '%' && !raw()) {
      add(TokenKind::kBlockBegin, {});
      inside("%}", TokenKind::kBlockEnd);
    } else if (kind == '{') {
      add(TokenKind::kPrintBegin, {});
      inside("}}", TokenKind::kPrintEnd);
    }
  }

  // `-` takes all white space before the tag, lstrip_blocks what stands between the line's start and the tag.
  std::string_view stripped(std::string_view text, char sign, bool may_lstrip) const {
    if (sign == '-') return strip_right(text);
    if (sign == '+' || !may_lstrip || !options_.lstrip_blocks) return text;
    const size_t newline = text.rfind('\n');
    const size_t start = newline == text.npos ? 0 : newline + 1;
    if (start == 0 && !line_starting_) return text;
    return strip_left(text.substr(start)).empty() ? text.substr(0, start) : text;
  }

  void add(TokenKind kind, std::string text, Value value = {}) {
    tokens_.push_back({kind, line_, std::move(text), std::move(value)});
  }

  void add_data(std::string_view text) {
    if (!text.empty()) add(TokenKind::kData, std::string(text));
  }

  void advance(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }

  bool starts(std::string_view text) const { return source_.substr(at_, text.size()) == text; }

  // After a tag's end: `-` takes all white space, trim_blocks one newline.
  void after_tag(size_t end, char sign, bool may_trim) {
    if (sign == '-') {
      end = source_.size() - strip_left(source_.substr(end)).size();
    } else if (sign != '+' && may_trim && options_.trim_blocks && end < source_.size() && source_[end] == '\n') {
      ++end;
    }
    line_starting_ = end > 0 && source_[end - 1] == '\n';
    advance(end);
  }

  void comment() {
    const size_t end = source_.find("#}", at_);
    if (end == source_.npos) throw syntax_error(line_, "a comment is not closed with '#}'");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    after_tag(end + 2, sign, true);
  }

  size_t skip_space(size_t at) const { return source_.size() - strip_left(source_.substr(at)).size(); }

  // {% raw %} ... {% endraw %}: true when it was one.
  bool raw() {
    size_t at = skip_space(at_);
    if (source_.substr(at, 3) != "raw") return false;
    at = skip_space(at + 3);
    const char sign = at < source_.size() && source_[at] == '-' ? '-' : '\0';
    at += sign == '-';
    if (source_.substr(at, 2) != "%}") return false;
    after_tag(at + 2, sign, false);
    for (size_t open = at_; (open = source_.find("{%", open)) != source_.npos; ++open) {
      size_t end = open + 2;
      const char before = end < source_.size() ? source_[end] : '\0';
      if (before == '-' || before == '+') ++end;
      end = skip_space(end);
      if (source_.substr(end, 6) != "endraw") continue;
      end = skip_space(end + 6);
      const char after = end < source_.size() ? source_[end] : '\0';
      if (after == '-' || after == '+') ++end;
      if (source_.substr(end, 2) != "%}") continue;
      add_data(stripped(source_.substr(at_, open - at_), before, true));
      after_tag(end + 2, after, true);
      return true;
    }
    throw syntax_error(line_, "a raw block is not closed with 'endraw'");
  }

  void inside(std::string_view end, TokenKind end_kind) {
    const int opened = line_;
    std::vector<char> open;
    for (;;) {
      advance(skip_space(at_));
      if (at_ >= source_.size()) {
        throw syntax_error(opened, cat("a tag is not closed with '", end, "'"));
      }
      if (open.empty() && tag_end(end, end_kind)) return;
      token(open);
    }
  }

  bool tag_end(std::string_view end, TokenKind kind) {
    const bool block = kind == TokenKind::kBlockEnd;
    const char sign = source_[at_] == '-' || (block && source_[at_] == '+') ? source_[at_] : '\0';
    const size_t at = at_ + (sign != '\0');
    if (source_.substr(at, 2) != end) return false;
    add(kind, {});
    after_tag(at + 2, sign, block);
    return true;
  }

  void token(std::vector<char>& open) {
    const char c = source_[at_];
    if (is_digit_character(c)) {
      number();
    } else if (is_name_start(c)) {
      size_t end = at_;
      while (end < source_.size() && (is_name_start(source_[end]) || is_digit_character(source_[end]))) ++end;
      add(TokenKind::kName, std::string(source_.substr(at_, end - at_)));
      at_ = end;
    } else if (c == '\'' || c == '"') {
      text(c);
    } else {
      operation(open);
    }
  }

  void number() {
    const NumberLiteral literal = read_number_literal(source_.substr(at_), line_);
    add(TokenKind::kNumber, std::string(source_.substr(at_, literal.size)), literal.value);
    at_ += literal.size;
  }

  void text(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) throw syntax_error(line_, "a text in quotes is not closed");
    add(TokenKind::kText, unescaped(source_.substr(at_ + 1, end - at_ - 1), line_));
    advance(end + 1);
  }

  void operation(std::vector<char>& open) {
    constexpr std::array<std::string_view, 26> kOperators = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                             "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                             ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    const auto* found =
        std::find_if(kOperators.begin(), kOperators.end(), [&](std::string_view op) { return starts(op); });
    if (found == kOperators.end()) {
      throw syntax_error(
          line_, cat("unexpected character ", in_quotes(source_.substr(at_, character_bytes(source_.substr(at_))))));
    }
    const char c = (*found)[0];
    if (c == '(' || c == '[' || c == '{') {
      open.push_back(c == '(' ? ')' : c == '[' ? ']' : '}');
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) throw syntax_error(line_, cat("unexpected '", c, "'"));
      if (open.back() != c) throw syntax_error(line_, cat("unexpected '", c, "', expected '", open.back(), "'"));
      open.pop_back();
    }
    add(TokenKind::kOperator, std::string(*found));
    at_ += found->size();
  }

  std::string_view source_;
  LexerOptions options_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
};

}  // namespace

Error syntax_error(int line, std::string_view message) {
  return {ErrorCode::kBadFile, cat("line ", line, ": ", message)};
}

std::vector<Token> tokenize(std::string_view source, const LexerOptions& options) {
  std::string text = normalized_newlines(source);
  if (!options.keep_trailing_newline && text.ends_with('\n')) text.pop_back();
  return Lexer(text, options).run();
}

}  // namespace wick::jinja
