#include "tokenizer/stages/split_pattern.h"

#include "base/ascii.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

class Splitter {
 public:
  Splitter(std::string_view text, Span part, std::vector<Span>& out)
      : text_(text), at_(part.begin), end_(part.end), out_(out) {}

  void gpt2() {
    while (at_ < end_) {
      if (text_[at_] == '\'') {
        if (const uint32_t bytes = contraction()) {
          emit(at_ + bytes);
          continue;
        }
      }
      const Char c = char_at(at_);
      if (text_[at_] == ' ' && at_ + 1 < end_) {
        const Char next = char_at(at_ + 1);
        if (!(next.sets & kSpaces)) {
          emit(gpt2_run(at_ + 1, next));
          continue;
        }
      }
      emit(c.sets & kSpaces ? blanks_end(at_ + c.bytes) : gpt2_run(at_, c));
    }
  }

  void words(int digits) {
    while (at_ < end_) {
      if (text_[at_] == '\'') {
        if (const uint32_t bytes = contraction_any_case()) {
          emit(at_ + bytes);
          continue;
        }
      }
      const Char c = char_at(at_);
      const uint32_t after = at_ + c.bytes;
      if (c.sets & kLetters) {
        emit(run_end(after, kLetters));
      } else if (c.sets & kNumbers) {
        emit(digits_end(after, digits - 1));
      } else {
        const Char next = after < end_ ? char_at(after) : Char{};
        if (!(c.sets & kLineBreaks) && (next.sets & kLetters)) {
          emit(run_end(after + next.bytes, kLetters));
        } else if (!(c.sets & kSpaces)) {
          emit(symbols_end(after));
        } else if (text_[at_] == ' ' && after < end_ && !(next.sets & (kSpaces | kNumbers))) {
          emit(symbols_end(after + next.bytes));
        } else {
          emit(blanks_or_lines_end());
        }
      }
    }
  }

 private:
  struct Char {
    uint8_t sets = 0;
    uint32_t bytes = 0;
  };

  Char char_at(uint32_t at) const {
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte < 0x80) return {table_[byte], 1};
    const CodePoint c = code_point_at(text_, at);
    return {c.value < 0x10000 ? table_[c.value] : char_sets_of(c.value), c.bytes};
  }

  void emit(uint32_t end) {
    out_.push_back({at_, end});
    at_ = end;
  }

  uint32_t run_end(uint32_t at, uint8_t set) const {
    while (at < end_) {
      const Char c = char_at(at);
      if (!(c.sets & set)) break;
      at += c.bytes;
    }
    return at;
  }

  // Neither spaces, letters nor numbers.
  uint32_t others_end(uint32_t at) const {
    while (at < end_) {
      const Char c = char_at(at);
      if (c.sets & (kSpaces | kLetters | kNumbers)) break;
      at += c.bytes;
    }
    return at;
  }

  uint32_t gpt2_run(uint32_t at, Char first) const {
    const uint32_t after = at + first.bytes;
    if (first.sets & kLetters) return run_end(after, kLetters);
    if (first.sets & kNumbers) return run_end(after, kNumbers);
    return others_end(after);
  }

  uint32_t symbols_end(uint32_t at) const {
    at = others_end(at);
    while (at < end_ && (text_[at] == '\r' || text_[at] == '\n')) ++at;
    return at;
  }

  uint32_t digits_end(uint32_t at, int more) const {
    for (; more > 0 && at < end_; --more) {
      const Char c = char_at(at);
      if (!(c.sets & kNumbers)) break;
      at += c.bytes;
    }
    return at;
  }

  // \s+(?!\S)|\s+ : a run of blanks without its last one, which belongs to the word after it.
  uint32_t blanks_end(uint32_t at) const {
    const uint32_t run = run_end(at, kSpaces);
    if (run == end_ || run == at) return run;
    return static_cast<uint32_t>(previous_start(text_, run));
  }

  // \s*[\r\n]+ comes first: up to the last line break of the run.
  uint32_t blanks_or_lines_end() const {
    const uint32_t run = run_end(at_, kSpaces);
    for (uint32_t at = run; at > at_; --at) {
      if (text_[at - 1] == '\r' || text_[at - 1] == '\n') return at;
    }
    return blanks_end(at_ + char_at(at_).bytes);
  }

  char letter_at(uint32_t at) const { return at < end_ ? text_[at] : '\0'; }

  uint32_t contraction() const { return contraction_of(letter_at(at_ + 1), letter_at(at_ + 2)); }

  uint32_t contraction_any_case() const {
    // U+017F, the long s, is an s when case is ignored.
    if (letter_at(at_ + 1) == '\xC5' && letter_at(at_ + 2) == '\xBF') return 3;
    return contraction_of(lower_ascii(letter_at(at_ + 1)), lower_ascii(letter_at(at_ + 2)));
  }

  static uint32_t contraction_of(char first, char second) {
    if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
    if ((first == 'r' || first == 'v') && second == 'e') return 3;
    return first == 'l' && second == 'l' ? 3 : 0;
  }

  std::string_view text_;
  uint32_t at_, end_;
  std::vector<Span>& out_;
  const uint8_t* table_ = char_set_table();
};

}  // namespace

std::string_view text_of(KnownPattern pattern) {
  switch (pattern) {
    case KnownPattern::kGpt2: return kGpt2Pattern;
    case KnownPattern::kWords1: return kWords1Pattern;
    case KnownPattern::kWords3: return kWords3Pattern;
  }
  return "";
}

std::optional<KnownPattern> known_pattern(std::string_view regex) {
  for (const KnownPattern known : {KnownPattern::kGpt2, KnownPattern::kWords1, KnownPattern::kWords3}) {
    if (text_of(known) == regex) return known;
  }
  return std::nullopt;
}

void split_known(KnownPattern pattern, std::string_view text, Span part, std::vector<Span>& out) {
  Splitter splitter(text, part, out);
  switch (pattern) {
    case KnownPattern::kGpt2: splitter.gpt2(); break;
    case KnownPattern::kWords1: splitter.words(1); break;
    case KnownPattern::kWords3: splitter.words(3); break;
  }
}

}  // namespace wick
