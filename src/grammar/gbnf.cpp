#include "grammar/gbnf.h"

#include <map>

#include "grammar/automaton/text_reader.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxText = size_t{1} << 20;
constexpr int kMaxDepth = 200;  // of parentheses
constexpr int64_t kMaxCount = 1'000'000'000;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

class GbnfParser {
 public:
  GbnfParser(std::string_view text, RuleSet& rules) : reader_(text, "grammar"), text_(text), rules_(rules) {}

  RuleId parse() {
    if (text_.size() > kMaxText) throw reader_.error(cat("the text is longer than ", kMaxText, " bytes"));
    skip_blanks(true);
    while (!reader_.at_end()) {
      parse_rule();
      skip_blanks(true);
    }
    for (const auto& [name, use] : names_) {
      if (!rules_.is_defined(use.rule)) throw reader_.error_at(use.offset, cat("rule '", name, "' is not defined"));
    }
    const auto root = names_.find("root");
    if (root == names_.end()) throw Error(ErrorCode::kInvalidArgument, "grammar: there is no rule 'root'");
    return root->second.rule;
  }

 private:
  struct Use {
    RuleId rule = 0;
    size_t offset = 0;  // of the first mention
  };

  // Blanks and comments; with `newlines`, line ends too.
  void skip_blanks(bool newlines) {
    while (true) {
      const char c = reader_.peek();
      if (c == ' ' || c == '\t' || (newlines && (c == '\n' || c == '\r') && !reader_.at_end())) {
        reader_.skip();
      } else if (c == '#') {
        while (!reader_.at_end() && reader_.peek() != '\n' && reader_.peek() != '\r') reader_.skip();
      } else {
        return;
      }
    }
  }

  std::string_view take_name() {
    const size_t start = reader_.offset();
    while (is_name_char(reader_.peek())) reader_.skip();
    if (reader_.offset() == start) throw reader_.error("expected the name of a rule");
    return text_.substr(start, reader_.offset() - start);
  }

  RuleId rule_named(std::string_view name, size_t offset) {
    const auto known = names_.find(name);
    if (known != names_.end()) return known->second.rule;
    const RuleId rule = rules_.add_rule(std::string(name));
    names_.emplace(std::string(name), Use{rule, offset});
    return rule;
  }

  void parse_rule() {
    const size_t start = reader_.offset();
    const std::string_view name = take_name();
    const RuleId rule = rule_named(name, start);
    if (rules_.is_defined(rule)) throw reader_.error_at(start, cat("rule '", name, "' is defined twice"));
    skip_blanks(false);
    reader_.expect("::=");
    skip_blanks(true);
    rules_.define(rule, parse_choice(0));
    if (!reader_.at_end() && reader_.peek() != '\n' && reader_.peek() != '\r') {
      throw reader_.error("expected the end of the line");
    }
  }

  ExprId parse_choice(int depth) {
    if (depth > kMaxDepth) throw reader_.error(cat("parentheses nested more than ", kMaxDepth, " levels deep"));
    std::vector<ExprId> options = {parse_sequence(depth)};
    while (next_is_bar()) {
      reader_.skip();
      skip_blanks(true);
      options.push_back(parse_sequence(depth));
    }
    return rules_.choice(std::move(options));
  }

  // A line that begins with '|' continues the rule above it.
  bool next_is_bar() {
    if (reader_.peek() == '|') return true;
    TextReader ahead = reader_;
    skip_blanks(true);
    if (reader_.peek() == '|') return true;
    reader_ = ahead;
    return false;
  }

  ExprId parse_sequence(int depth) {
    std::vector<ExprId> parts;
    while (true) {
      const char c = reader_.peek();
      if (c == '"') {
        parts.push_back(parse_literal());
      } else if (c == '[') {
        parts.push_back(parse_class());
      } else if (c == '.') {
        reader_.skip();
        parts.push_back(rules_.chars(CodepointSet::all()));
      } else if (c == '(') {
        reader_.skip();
        skip_blanks(true);
        parts.push_back(parse_choice(depth + 1));
        skip_blanks(true);
        reader_.expect(")");
      } else if (is_name_char(c)) {
        const size_t start = reader_.offset();
        const std::string_view name = take_name();
        parts.push_back(rules_.call(rule_named(name, start)));
      } else {
        return rules_.sequence(std::move(parts));
      }
      while (parse_repetition(parts.back())) {
      }
      skip_blanks(depth > 0);
    }
  }

  // An operator behind the last part. Several in a row apply one after the other.
  bool parse_repetition(ExprId& part) {
    skip_blanks(false);
    if (reader_.take("?")) {
      part = rules_.repeat(part, 0, 1);
    } else if (reader_.take("*")) {
      part = rules_.repeat(part, 0, std::nullopt);
    } else if (reader_.take("+")) {
      part = rules_.repeat(part, 1, std::nullopt);
    } else if (reader_.take("{")) {
      skip_blanks(false);
      const auto min = reader_.take_number(kMaxCount);
      if (!min) throw reader_.error("expected a count");
      skip_blanks(false);
      std::optional<int64_t> max = min;
      if (reader_.take(",")) {
        skip_blanks(false);
        max = reader_.take_number(kMaxCount);
        skip_blanks(false);
      }
      if (max && *max < *min) throw reader_.error(cat("the most (", *max, ") is less than the least (", *min, ")"));
      reader_.expect("}");
      part = rules_.repeat(part, *min, max);
    } else {
      return false;
    }
    return true;
  }

  uint32_t take_char() {
    if (reader_.peek() != '\\') return reader_.take_codepoint();
    const size_t start = reader_.offset();
    reader_.skip();
    const char kind = reader_.peek();
    reader_.skip();
    uint32_t codepoint = 0;
    switch (kind) {
      case 'x': codepoint = reader_.take_hex(2); break;
      case 'u': codepoint = reader_.take_hex(4); break;
      case 'U': codepoint = reader_.take_hex(8); break;
      case 't': return '\t';
      case 'r': return '\r';
      case 'n': return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^': return static_cast<uint8_t>(kind);
      default: throw reader_.error_at(start, "unknown escape sequence");
    }
    if (!is_scalar_value(codepoint)) throw reader_.error_at(start, "not a Unicode character");
    return codepoint;
  }

  ExprId parse_literal() {
    const size_t start = reader_.offset();
    reader_.skip();
    std::string bytes;
    while (reader_.peek() != '"') {
      if (reader_.at_end()) throw reader_.error_at(start, "this '\"' is not closed");
      append_utf8(bytes, take_char());
    }
    reader_.skip();
    return rules_.bytes(bytes);
  }

  ExprId parse_class() {
    const size_t start = reader_.offset();
    reader_.skip();
    const bool is_negated = reader_.take("^");
    std::vector<CodepointRange> ranges;
    while (reader_.peek() != ']') {
      if (reader_.at_end()) throw reader_.error_at(start, "this '[' is not closed");
      const uint32_t first = take_char();
      uint32_t last = first;
      if (reader_.peek() == '-' && reader_.peek(1) != ']') {
        reader_.skip();
        if (reader_.at_end()) throw reader_.error_at(start, "this '[' is not closed");
        last = take_char();
      }
      if (last < first) throw reader_.error("a range ends before it begins");
      ranges.push_back({first, last});
    }
    reader_.skip();
    CodepointSet set(std::move(ranges));
    return rules_.chars(is_negated ? set.complement() : std::move(set));
  }

  TextReader reader_;
  std::string_view text_;
  RuleSet& rules_;
  std::map<std::string, Use, std::less<>> names_;
};

}  // namespace

RuleId parse_gbnf(std::string_view text, RuleSet& rules) { return GbnfParser(text, rules).parse(); }

}  // namespace wick::grammar
