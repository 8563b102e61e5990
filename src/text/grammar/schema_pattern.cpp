#include "text/grammar/schema_pattern.h"

#include "text/grammar/text_reader.h"

namespace wick::grammar {
namespace {

constexpr int kMaxDepth = 100;
constexpr int64_t kMaxCount = 1'000'000;

const CodepointSet& digits() {
  static const CodepointSet kSet({{'0', '9'}});
  return kSet;
}
const CodepointSet& word_chars() {
  static const CodepointSet kSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return kSet;
}
const CodepointSet& spaces() {
  static const CodepointSet kSet({{'\t', '\r'},
                                  {' ', ' '},
                                  {0xA0, 0xA0},
                                  {0x1680, 0x1680},
                                  {0x2000, 0x200A},
                                  {0x2028, 0x2029},
                                  {0x202F, 0x202F},
                                  {0x205F, 0x205F},
                                  {0x3000, 0x3000},
                                  {0xFEFF, 0xFEFF}});
  return kSet;
}
const CodepointSet& line_ends() {
  static const CodepointSet kSet({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}});
  return kSet;
}

class RegexParser {
 public:
  RegexParser(std::string_view pattern, std::string place, RuleSet& rules)
      : reader_(pattern, std::move(place)), rules_(rules) {}

  ExprId parse() {
    const ExprId result = parse_choice(0, true, true);
    if (!reader_.at_end()) throw reader_.error("this ')' was never opened");
    return result;
  }

 private:
  ExprId anything() { return rules_.repeat(rules_.chars(CodepointSet::all()), 0, std::nullopt); }

  // `at_start`, `at_end`: nothing of the pattern stands before or behind, so that anchors mean something and their
  // absence too.
  ExprId parse_choice(int depth, bool at_start, bool at_end) {
    if (depth > kMaxDepth) throw reader_.error(cat("groups nested more than ", kMaxDepth, " levels deep"));
    std::vector<ExprId> options = {parse_sequence(depth, at_start, at_end)};
    while (reader_.take("|")) options.push_back(parse_sequence(depth, at_start, at_end));
    return rules_.choice(std::move(options));
  }

  bool at_option_end() const { return reader_.at_end() || reader_.peek() == '|' || reader_.peek() == ')'; }

  ExprId parse_sequence(int depth, bool at_start, bool at_end) {
    // A group that is a whole option takes over both ends, as in "(^a|b$)" or "(?:^a$)".
    if (at_start && at_end && reader_.peek() == '(' && group_is_all()) {
      open_group();
      const ExprId inner = parse_choice(depth + 1, true, true);
      reader_.expect(")");
      return inner;
    }
    std::vector<ExprId> parts;
    const bool is_anchored = reader_.peek() == '^';
    if (is_anchored && !at_start) throw reader_.error("'^' is supported only where the pattern begins");
    while (reader_.take("^")) {
    }
    if (at_start && !is_anchored) parts.push_back(anything());
    while (!at_option_end()) {
      if (reader_.peek() == '^') throw reader_.error("'^' is supported only where the pattern begins");
      if (reader_.take("$")) {
        if (!at_end || !at_option_end()) throw reader_.error("'$' is supported only where the pattern ends");
        return rules_.sequence(std::move(parts));
      }
      ExprId part = parse_atom(depth);
      parse_quantifier(part);
      parts.push_back(part);
    }
    if (at_end) parts.push_back(anything());
    return rules_.sequence(std::move(parts));
  }

  // Whether the group that begins here ends where its option does.
  bool group_is_all() const {
    TextReader ahead = reader_;
    int open = 0;
    bool in_class = false;
    while (!ahead.at_end()) {
      const char c = ahead.peek();
      ahead.skip(c == '\\' ? 2 : 1);
      if (in_class) {
        in_class = c != ']';
      } else if (c == '[') {
        in_class = true;
      } else if (c == '(') {
        ++open;
      } else if (c == ')' && --open == 0) {
        return ahead.at_end() || ahead.peek() == '|' || ahead.peek() == ')';
      }
    }
    return false;
  }

  void open_group() {
    reader_.expect("(");
    if (reader_.take("?:")) return;
    if (reader_.peek() != '?') return;
    throw reader_.error(reader_.peek(1) == '<' && reader_.peek(2) != '=' && reader_.peek(2) != '!'
                            ? "named groups are not supported"
                            : "look-around is not supported");
  }

  ExprId parse_atom(int depth) {
    const char c = reader_.peek();
    switch (c) {
      case '(': {
        open_group();
        const ExprId inner = parse_choice(depth + 1, false, false);
        reader_.expect(")");
        return inner;
      }
      case '[': return rules_.chars(parse_class());
      case '.': reader_.skip(); return rules_.chars(line_ends().complement());
      case '\\': return rules_.chars(parse_escape(false));
      case '*':
      case '+':
      case '?': throw reader_.error(cat("nothing to repeat before '", c, "'"));
      case '{':
        if (TextReader ahead = reader_; take_counts(ahead)) throw reader_.error("nothing to repeat before '{'");
        break;
      default: break;
    }
    const uint32_t codepoint = reader_.take_codepoint();
    return rules_.chars(CodepointSet({{codepoint, codepoint}}));
  }

  struct Counts {
    int64_t min = 0;
    std::optional<int64_t> max;
  };
  // "{m}", "{m,}" or "{m,n}"; anything else is text.
  static std::optional<Counts> take_counts(TextReader& reader) {
    TextReader ahead = reader;
    if (!ahead.take("{")) return std::nullopt;
    const auto min = ahead.take_number(kMaxCount);
    if (!min) return std::nullopt;
    Counts counts{*min, min};
    if (ahead.take(",")) counts.max = ahead.take_number(kMaxCount);
    if (!ahead.take("}")) return std::nullopt;
    reader = ahead;
    return counts;
  }

  void parse_quantifier(ExprId& part) {
    if (reader_.take("*")) {
      part = rules_.repeat(part, 0, std::nullopt);
    } else if (reader_.take("+")) {
      part = rules_.repeat(part, 1, std::nullopt);
    } else if (reader_.take("?")) {
      part = rules_.repeat(part, 0, 1);
    } else if (const auto counts = take_counts(reader_)) {
      if (counts->max && *counts->max < counts->min) throw reader_.error("the most is less than the least");
      part = rules_.repeat(part, counts->min, counts->max);
    } else {
      return;
    }
    reader_.take("?");  // lazy: the same texts
    const char c = reader_.peek();
    if (c == '*' || c == '+' || c == '?') throw reader_.error("nothing to repeat");
  }

  CodepointSet parse_escape(bool in_class) {
    const size_t start = reader_.offset();
    reader_.expect("\\");
    const char c = reader_.peek();
    const auto one = [](uint32_t codepoint) { return CodepointSet({{codepoint, codepoint}}); };
    const auto skip_and = [&](CodepointSet set) {
      reader_.skip();
      return set;
    };
    switch (c) {
      case 'd': return skip_and(digits());
      case 'D': return skip_and(digits().complement());
      case 'w': return skip_and(word_chars());
      case 'W': return skip_and(word_chars().complement());
      case 's': return skip_and(spaces());
      case 'S': return skip_and(spaces().complement());
      case 't': return skip_and(one('\t'));
      case 'n': return skip_and(one('\n'));
      case 'r': return skip_and(one('\r'));
      case 'f': return skip_and(one('\f'));
      case 'v': return skip_and(one('\v'));
      case 'x': reader_.skip(); return one(reader_.take_hex(2));
      case 'u': reader_.skip(); return one(parse_unicode_escape(start));
      case 'b':
        if (in_class) return skip_and(one('\b'));
        throw reader_.error_at(start, "'\\b' is not supported");
      case '0':
        if (reader_.peek(1) < '0' || reader_.peek(1) > '9') return skip_and(one(0));
        break;
      default: break;
    }
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (reader_.at_end()) throw reader_.error_at(start, "the pattern ends in '\\'");
    if (is_letter) throw reader_.error_at(start, cat("'\\", c, "' is not supported"));
    if (c >= '0' && c <= '9') throw reader_.error_at(start, "back references are not supported");
    return one(reader_.take_codepoint());
  }

  // "XXXX", a pair of them for what lies beyond U+FFFF, or "{X...}".
  uint32_t parse_unicode_escape(size_t start) {
    uint32_t codepoint = 0;
    if (reader_.take("{")) {
      for (int length = 0; !reader_.take("}"); ++length) {
        if (length == 6) throw reader_.error_at(start, "not a Unicode character");
        codepoint = codepoint << 4 | reader_.take_hex(1);
      }
    } else {
      codepoint = reader_.take_hex(4);
      if (codepoint >= 0xD800 && codepoint <= 0xDBFF && reader_.take("\\u")) {
        const uint32_t low = reader_.take_hex(4);
        if (low >= 0xDC00 && low <= 0xDFFF) codepoint = 0x10000 + ((codepoint - 0xD800) << 10 | (low - 0xDC00));
      }
    }
    if (!is_scalar_value(codepoint)) throw reader_.error_at(start, "not a Unicode character");
    return codepoint;
  }

  CodepointSet parse_class() {
    const size_t start = reader_.offset();
    reader_.expect("[");
    const bool is_negated = reader_.take("^");
    std::vector<CodepointRange> ranges;
    const auto take_member = [&] {
      if (reader_.at_end()) throw reader_.error_at(start, "this '[' is not closed");
      if (reader_.peek() == '\\') return parse_escape(true);
      const uint32_t codepoint = reader_.take_codepoint();
      return CodepointSet({{codepoint, codepoint}});
    };
    const auto is_one = [](const CodepointSet& set) {
      return set.ranges().size() == 1 && set.ranges()[0].first == set.ranges()[0].last;
    };
    while (!reader_.take("]")) {
      const CodepointSet member = take_member();
      if (reader_.peek() == '-' && reader_.peek(1) != ']') {
        reader_.skip();
        const CodepointSet last = take_member();
        if (!is_one(member) || !is_one(last) || last.ranges()[0].first < member.ranges()[0].first) {
          throw reader_.error("not a range of characters");
        }
        ranges.push_back({member.ranges()[0].first, last.ranges()[0].first});
      } else {
        ranges.insert(ranges.end(), member.ranges().begin(), member.ranges().end());
      }
    }
    CodepointSet set(std::move(ranges));
    return is_negated ? set.complement() : set;
  }

  TextReader reader_;
  RuleSet& rules_;
};

}  // namespace

ExprId parse_regex(std::string_view pattern, std::string place, RuleSet& out) {
  return RegexParser(pattern, std::move(place), out).parse();
}

}  // namespace wick::grammar
