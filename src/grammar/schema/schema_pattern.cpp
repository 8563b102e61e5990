#include "grammar/schema/schema_pattern.h"

#include <algorithm>

#include "grammar/automaton/text_reader.h"

namespace wick::grammar {
namespace {

constexpr int kMaxDepth = 100;
constexpr int64_t kMaxCount = 1'000'000;

const CodepointSet& digits() {
  static const CodepointSet kSet({{'0', '9'}});
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
    const ExprId result = parse_choice(0);
    if (!reader_.at_end()) throw reader_.error("this ')' was never opened");
    return result;
  }

 private:
  ExprId parse_choice(int depth) {
    if (depth > kMaxDepth) throw reader_.error(cat("groups nested more than ", kMaxDepth, " levels deep"));
    std::vector<ExprId> options = {parse_sequence(depth)};
    while (reader_.take("|")) options.push_back(parse_sequence(depth));
    return rules_.choice(std::move(options));
  }

  ExprId parse_sequence(int depth) {
    std::vector<ExprId> parts;
    while (!reader_.at_end() && reader_.peek() != '|' && reader_.peek() != ')') {
      ExprId part = parse_atom(depth);
      parse_quantifier(part);
      parts.push_back(part);
    }
    return rules_.sequence(std::move(parts));
  }

  ExprId parse_group(int depth) {
    reader_.expect("(");
    std::optional<Assertion> look;
    if (reader_.take("?=")) {
      look = Assertion::kAhead;
    } else if (reader_.take("?!")) {
      look = Assertion::kNotAhead;
    } else if (reader_.take("?<=")) {
      look = Assertion::kBehind;
    } else if (reader_.take("?<!")) {
      look = Assertion::kNotBehind;
    } else if (reader_.take("?<")) {  // named
      while (!reader_.take(">")) {
        if (reader_.at_end()) throw reader_.error("expected '>'");
        reader_.skip();
      }
    } else if (!reader_.take("?:") && reader_.peek() == '?') {
      throw reader_.error("this kind of group is not supported");
    }
    const ExprId inner = parse_choice(depth + 1);
    reader_.expect(")");
    return look ? rules_.assertion(*look, {inner}) : inner;
  }

  ExprId parse_atom(int depth) {
    const char c = reader_.peek();
    switch (c) {
      case '(': return parse_group(depth);
      case '^': reader_.skip(); return rules_.assertion(Assertion::kStart);
      case '$': reader_.skip(); return rules_.assertion(Assertion::kEnd);
      case '[': return rules_.chars(parse_class());
      case '.': reader_.skip(); return rules_.chars(line_ends().complement());
      case '\\':
        if (reader_.take("\\b")) return rules_.assertion(Assertion::kWordBoundary);
        if (reader_.take("\\B")) return rules_.assertion(Assertion::kNoWordBoundary);
        return rules_.chars(parse_escape(false));
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
        break;
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

// Rewrites the parts at the ends of a pattern, where anchors mean something and their absence does too.
class AnchorRemover {
 public:
  explicit AnchorRemover(RuleSet& rules) : rules_(rules) {}

  std::optional<ExprId> remove(ExprId id, bool at_start, bool at_end) {
    const Expr& expr = rules_.expr(id);
    if (!has_assertion(id)) return surrounded(id, at_start, at_end);
    if (expr.kind == ExprKind::kRepeat) return std::nullopt;
    if (expr.kind == ExprKind::kChoice) {
      std::vector<ExprId> options;
      for (const ExprId option : std::vector(expr.children)) {
        const auto plain = remove(option, at_start, at_end);
        if (!plain) return std::nullopt;
        options.push_back(*plain);
      }
      return rules_.choice(std::move(options));
    }
    std::vector<ExprId> parts = expr.kind == ExprKind::kSequence ? expr.children : std::vector{id};
    bool starts_anywhere = at_start, ends_anywhere = at_end;
    while (at_start && !parts.empty() && is_anchor(parts.front(), Assertion::kStart)) {
      starts_anywhere = false;
      parts.erase(parts.begin());
    }
    while (at_end && !parts.empty() && is_anchor(parts.back(), Assertion::kEnd)) {
      ends_anywhere = false;
      parts.pop_back();
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!has_assertion(parts[i])) continue;
      const bool is_first = starts_anywhere && i == 0, is_last = ends_anywhere && i + 1 == parts.size();
      if (rules_.expr(parts[i]).kind == ExprKind::kAssert || (!is_first && !is_last)) return std::nullopt;
      const auto plain = remove(parts[i], is_first, is_last);
      if (!plain) return std::nullopt;
      parts[i] = *plain;
      if (is_first) starts_anywhere = false;
      if (is_last) ends_anywhere = false;
    }
    return surrounded(rules_.sequence(std::move(parts)), starts_anywhere, ends_anywhere);
  }

 private:
  bool is_anchor(ExprId id, Assertion kind) const {
    return rules_.expr(id).kind == ExprKind::kAssert && rules_.expr(id).assertion == kind;
  }

  bool has_assertion(ExprId id) {
    known_.resize(std::max<size_t>(known_.size(), id + 1));
    if (!known_[id]) {
      const Expr& expr = rules_.expr(id);
      bool has = expr.kind == ExprKind::kAssert;
      for (const ExprId child : expr.children) has = has || has_assertion(child);
      known_[id] = has;
    }
    return *known_[id];
  }

  ExprId surrounded(ExprId id, bool before, bool behind) {
    std::vector<ExprId> parts;
    const ExprId anything = rules_.repeat(rules_.chars(CodepointSet::all()), 0, std::nullopt);
    if (before) parts.push_back(anything);
    parts.push_back(id);
    if (behind) parts.push_back(anything);
    return rules_.sequence(std::move(parts));
  }

  RuleSet& rules_;
  std::vector<std::optional<bool>> known_;
};

}  // namespace

const CodepointSet& word_chars() {
  static const CodepointSet kSet({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}});
  return kSet;
}

ExprId parse_regex(std::string_view pattern, std::string place, RuleSet& out) {
  return RegexParser(pattern, std::move(place), out).parse();
}

std::optional<ExprId> without_assertions(ExprId pattern, RuleSet& rules) {
  return AnchorRemover(rules).remove(pattern, true, true);
}

ExprId found_anywhere(ExprId pattern, RuleSet& rules) {
  const ExprId anything = rules.repeat(rules.chars(CodepointSet::all()), 0, std::nullopt);
  return rules.sequence({anything, pattern, anything});
}

}  // namespace wick::grammar
