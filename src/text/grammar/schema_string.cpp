#include "text/grammar/schema_string.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "text/grammar/char_automaton.h"
#include "text/grammar/schema_formats.h"
#include "text/grammar/schema_pattern.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxProductStates = 20000;
constexpr size_t kMaxProductSteps = 4'000'000;

// Patterns and formats of a schema, as expressions over characters.
std::vector<ExprId> parse_patterns(const MergedSchema& schema, RuleSet& chars) {
  std::vector<ExprId> patterns;
  std::vector<std::string> known;
  const auto add = [&](const std::string& pattern, const std::string& place) {
    if (std::find(known.begin(), known.end(), pattern) != known.end()) return;
    known.push_back(pattern);
    patterns.push_back(parse_regex(pattern, place, chars));
  };
  for (const Json* pattern : schema.patterns) {
    if (!pattern->is_text()) throw schema_error(*pattern, "expected a regular expression");
    add(pattern->as_text(), pattern->place());
  }
  for (const Json* format : schema.formats) {
    if (!format->is_text()) throw schema_error(*format, "expected the name of a format");
    const auto pattern = format_pattern(format->as_text());
    if (!pattern) throw schema_error(*format, cat("unknown format '", format->as_text(), "'"));
    if (!pattern->empty()) add(std::string(*pattern), format->place());
  }
  return patterns;
}

struct Lengths {
  int64_t min = 0;
  std::optional<int64_t> max;  // empty: no limit
};

constexpr int64_t kLong = int64_t{1} << 40;  // lengths are not counted beyond this

Lengths lengths_of(const RuleSet& chars, ExprId id) {
  const Expr& expr = chars.expr(id);
  switch (expr.kind) {
    case ExprKind::kChars: return {1, 1};
    case ExprKind::kSequence: {
      Lengths sum{0, 0};
      for (const ExprId part : expr.children) {
        const Lengths lengths = lengths_of(chars, part);
        sum.min = std::min(kLong, sum.min + lengths.min);
        sum.max = sum.max && lengths.max && *sum.max + *lengths.max < kLong ? std::optional(*sum.max + *lengths.max)
                                                                            : std::nullopt;
      }
      return sum;
    }
    case ExprKind::kChoice: {
      Lengths all = lengths_of(chars, expr.children[0]);
      for (const ExprId option : expr.children) {
        const Lengths lengths = lengths_of(chars, option);
        all.min = std::min(all.min, lengths.min);
        all.max = all.max && lengths.max ? std::optional(std::max(*all.max, *lengths.max)) : std::nullopt;
      }
      return all;
    }
    case ExprKind::kRepeat: {
      const Lengths one = lengths_of(chars, expr.children[0]);
      Lengths all{std::min(kLong, one.min * std::min(expr.min, kLong >> 20)), std::nullopt};
      if (one.min > kLong >> 20) all.min = kLong;
      if (expr.max && one.max && *one.max < kLong >> 20) all.max = *one.max * *expr.max;
      return all;
    }
    default: return {0, 0};
  }
}

// The same expression, with characters as they stand inside a JSON string.
ExprId to_json(const RuleSet& chars, ExprId id, RuleSet& rules, JsonPieces& pieces) {
  const Expr& expr = chars.expr(id);
  std::vector<ExprId> children;
  for (const ExprId child : expr.children) children.push_back(to_json(chars, child, rules, pieces));
  switch (expr.kind) {
    case ExprKind::kChars: return pieces.plain_chars(expr.chars);
    case ExprKind::kSequence: return rules.sequence(std::move(children));
    case ExprKind::kChoice: return rules.choice(std::move(children));
    case ExprKind::kRepeat: return rules.repeat(children[0], expr.min, expr.max);
    case ExprKind::kEmpty: return rules.empty();
    default: return rules.never();
  }
}

// Texts that match several patterns and have a length within limits: all of that is followed at once, one rule per
// combination of states.
class Product {
 public:
  Product(const MergedSchema& schema, const RuleSet& chars, const std::vector<ExprId>& patterns, RuleSet& rules,
          JsonPieces& pieces)
      : schema_(schema), rules_(rules), pieces_(pieces) {
    for (const ExprId pattern : patterns) automata_.emplace_back(chars, pattern, schema.place);
  }

  ExprId compile() {
    Key start;
    for (const CharAutomaton& automaton : automata_) start.states.push_back(automaton.start());
    const RuleId first = rule_for(start);
    while (!open_.empty()) {
      const auto entry = open_.back();
      open_.pop_back();
      define(entry->first, entry->second);
    }
    return rules_.call(first);
  }

 private:
  struct Key {
    std::vector<CharAutomaton::StateSet> states;  // of each automaton
    int64_t length = 0;                           // so far, as far as it matters
    bool operator<(const Key& other) const { return std::tie(length, states) < std::tie(other.length, other.states); }
  };
  using Known = std::map<Key, RuleId>;

  RuleId rule_for(const Key& key) {
    const auto [entry, is_new] = known_.try_emplace(key, 0);
    if (is_new) {
      if (known_.size() > kMaxProductStates) throw too_large();
      entry->second = rules_.add_rule(cat("text of ", schema_.place));
      open_.push_back(entry);
    }
    return entry->second;
  }

  Error too_large() const {
    return {ErrorCode::kInvalidArgument,
            cat(schema_.place, ": the patterns and lengths of this string are too large together")};
  }

  // Characters that no automaton tells apart here share an interval between two of these.
  std::vector<uint32_t> interval_starts(const Key& key) const {
    std::vector<uint32_t> starts = {0};
    for (size_t i = 0; i < automata_.size(); ++i) {
      for (const uint32_t state : key.states[i]) {
        for (const auto& edge : automata_[i].edges(state)) {
          for (const auto [first, last] : edge.chars->ranges()) {
            starts.push_back(first);
            starts.push_back(last + 1);
          }
        }
      }
    }
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::erase_if(starts, [](uint32_t start) { return start > kMaxCodepoint; });
    return starts;
  }

  void define(const Key& key, RuleId rule) {
    std::vector<ExprId> options;
    bool is_end = key.length >= schema_.min_length;
    for (size_t i = 0; i < automata_.size(); ++i) is_end &= automata_[i].is_end(key.states[i]);
    if (is_end) options.push_back(rules_.empty());
    if (!schema_.max_length || key.length < *schema_.max_length) {
      std::map<Key, std::vector<CodepointRange>> targets;
      const std::vector<uint32_t> starts = interval_starts(key);
      for (size_t i = 0; i < starts.size(); ++i) {
        if (++steps_ > kMaxProductSteps) throw too_large();
        const uint32_t last = i + 1 < starts.size() ? starts[i + 1] - 1 : kMaxCodepoint;
        if (auto next = step(key, starts[i])) targets[*std::move(next)].push_back({starts[i], last});
      }
      for (auto& [next, ranges] : targets) {
        options.push_back(
            rules_.sequence({pieces_.plain_chars(CodepointSet(std::move(ranges))), rules_.call(rule_for(next))}));
      }
    }
    rules_.define(rule, rules_.choice(std::move(options)));
  }

  std::optional<Key> step(const Key& key, uint32_t codepoint) const {
    Key next;
    next.length = schema_.max_length ? key.length + 1 : std::min(key.length + 1, schema_.min_length);
    for (size_t i = 0; i < automata_.size(); ++i) {
      next.states.push_back(automata_[i].next(key.states[i], codepoint));
      if (next.states.back().empty()) return std::nullopt;
    }
    return next;
  }

  const MergedSchema& schema_;
  RuleSet& rules_;
  JsonPieces& pieces_;
  std::vector<CharAutomaton> automata_;
  Known known_;
  std::vector<Known::iterator> open_;
  size_t steps_ = 0;
};

}  // namespace

ExprId compile_string(const MergedSchema& schema, RuleSet& rules, JsonPieces& pieces) {
  RuleSet chars;
  const std::vector<ExprId> patterns = parse_patterns(schema, chars);
  const ExprId quote = rules.bytes("\"");
  if (patterns.empty()) {
    if (schema.min_length == 0 && !schema.max_length) return pieces.string();
    return rules.sequence({quote, rules.repeat(pieces.character(), schema.min_length, schema.max_length), quote});
  }
  if (patterns.size() == 1) {
    const Lengths lengths = lengths_of(chars, patterns[0]);
    const bool fits =
        lengths.min >= schema.min_length && (!schema.max_length || (lengths.max && *lengths.max <= *schema.max_length));
    if (fits) return rules.sequence({quote, to_json(chars, patterns[0], rules, pieces), quote});
  }
  return rules.sequence({quote, Product(schema, chars, patterns, rules, pieces).compile(), quote});
}

ExprId compile_pattern(const std::string& pattern, const std::string& place, RuleSet& rules, JsonPieces& pieces) {
  RuleSet chars;
  const ExprId expr = parse_regex(pattern, place, chars);
  const ExprId quote = rules.bytes("\"");
  return rules.sequence({quote, to_json(chars, expr, rules, pieces), quote});
}

bool allows_string(const MergedSchema& schema, const std::string& text) {
  const auto length = static_cast<int64_t>(codepoints_of(text).size());
  if (length < schema.min_length || (schema.max_length && length > *schema.max_length)) return false;
  RuleSet chars;
  const std::vector<ExprId> patterns = parse_patterns(schema, chars);
  return std::all_of(patterns.begin(), patterns.end(),
                     [&](ExprId pattern) { return CharAutomaton(chars, pattern, schema.place).matches(text); });
}

}  // namespace wick::grammar
