#include "grammar/schema/schema_number.h"

#include <algorithm>
#include <iterator>

#include "base/checked.h"
#include "grammar/automaton/pattern_machine.h"
#include "grammar/schema/number_ranges.h"
#include "grammar/schema/text_rules.h"

namespace wick::grammar {
namespace {

constexpr int kMaxFraction = 15;
constexpr int64_t kMaxRemainders = 1000;  // for numbers that no limits hold in
constexpr int64_t kMaxListed = 10000;
constexpr int64_t kMaxStep = 1'000'000'000'000'000;

struct NumberFormat {
  std::string_view name, lower, upper;
};
constexpr NumberFormat kFormats[] = {
    {"int8", "-128", "127"},
    {"int16", "-32768", "32767"},
    {"int32", "-2147483648", "2147483647"},
    {"int64", "-9223372036854775808", "9223372036854775807"},
    {"uint8", "0", "255"},
    {"uint16", "0", "65535"},
    {"uint32", "0", "4294967295"},
    {"uint64", "0", "18446744073709551615"},
};

struct Limits {
  std::optional<Limit> lower, upper;
};

void tighten(std::optional<Limit>& limit, Limit candidate, int direction) {
  if (limit) {
    const int order = compare(candidate.value, limit->value) * direction;
    if (order < 0 || (order == 0 && !candidate.is_exclusive)) return;
  }
  limit = std::move(candidate);
}

void add_limits(const SchemaNode& node, Limits& limits) {
  if (node.kind == NodeKind::kBound) {
    std::optional<Limit>& limit = node.is_lower ? limits.lower : limits.upper;
    tighten(limit, {decimal_of(*node.source), node.is_exclusive}, node.is_lower ? 1 : -1);
    return;
  }
  const auto known = std::find_if(std::begin(kFormats), std::end(kFormats),
                                  [&](const NumberFormat& format) { return format.name == node.texts[0]; });
  if (known == std::end(kFormats)) return;
  const bool is_negative = known->lower[0] == '-';
  tighten(limits.lower, {{is_negative, std::string(known->lower.substr(is_negative)), ""}, false}, 1);
  tighten(limits.upper, {{false, std::string(known->upper), ""}, false}, -1);
}

// The strictest of all limits, and those that a format of numbers implies.
Limits limits_of(const MergedSchema& schema) {
  Limits limits;
  for (const SchemaNode* bound : schema.bounds) add_limits(*bound, limits);
  for (const auto& [node, is_opposite] : schema.texts) {
    if (node->kind == NodeKind::kFormat && !is_opposite) add_limits(*node, limits);
  }
  return limits;
}

bool is_within(const Decimal& value, const Limits& limits) {
  const int low = limits.lower ? compare(value, limits.lower->value) : 1;
  const int high = limits.upper ? compare(value, limits.upper->value) : -1;
  return low >= 0 && high <= 0 && (low > 0 || !limits.lower->is_exclusive) && (high < 0 || !limits.upper->is_exclusive);
}

// A multipleOf is modulus / 10^digits.
struct Step {
  int64_t modulus = 1;
  int digits = 0;
};

Step step_of(const Json& multiple) {
  const Decimal decimal = decimal_of(multiple);
  Step step{0, static_cast<int>(decimal.fraction.size())};
  for (const char digit : decimal.whole + decimal.fraction) {
    const auto next = checked_mul(step.modulus, int64_t{10});
    if (!next || *next > kMaxStep) throw schema_error(multiple, "multipleOf has too many digits");
    step.modulus = *next + (digit - '0');
  }
  return step;
}

// The decimal numbers without exponent that are multiples of a step.
class MultipleMachine : public TextMachine {
 public:
  explicit MultipleMachine(Step step) : step_(step) {}

  int start() override { return intern({-1, 0}); }
  int next(int state, uint32_t codepoint) override {
    State at = states_[static_cast<size_t>(state)];
    if (codepoint == '-') return state;
    if (codepoint == '.') {
      at.fraction = 0;
      return intern(at);
    }
    if (codepoint < '0' || codepoint > '9') return kDead;
    const auto digit = static_cast<int64_t>(codepoint - '0');
    if (at.fraction == step_.digits) return digit == 0 ? state : kDead;
    if (at.fraction >= 0) ++at.fraction;
    at.remainder = static_cast<int64_t>((__int128{at.remainder} * 10 + digit) % step_.modulus);
    return intern(at);
  }
  bool accepts(int state) override {
    const State& at = states_[static_cast<size_t>(state)];
    __int128 remainder = at.remainder;
    for (int i = std::max(at.fraction, 0); i < step_.digits; ++i) remainder = remainder * 10 % step_.modulus;
    return remainder == 0;
  }
  void add_interval_starts(int, std::vector<uint32_t>& starts) override {
    for (uint32_t c = '-'; c <= '9' + 1; ++c) starts.push_back(c);
  }

 private:
  struct State {
    int fraction = -1;  // digits read behind the point; -1: none was read
    int64_t remainder = 0;
    auto operator<=>(const State&) const = default;
  };
  int intern(State state) {
    const auto [entry, is_new] = known_.try_emplace(state, static_cast<int>(states_.size()));
    if (is_new) states_.push_back(state);
    return entry->second;
  }

  Step step_;
  std::map<State, int> known_;
  std::vector<State> states_;
};

std::string text_of(const Decimal& value) {
  return cat(value.is_negative ? "-" : "", value.whole, value.fraction.empty() ? "" : ".", value.fraction);
}

// All ways without exponent to write this number.
ExprId same_number(const Decimal& value, RuleSet& rules) {
  const ExprId zeros = rules.repeat(rules.bytes("0"), 0, std::nullopt);
  const ExprId point = value.fraction.empty() ? rules.optional(rules.sequence({rules.bytes("."), zeros})) : zeros;
  const ExprId sign = value.is_zero() ? rules.optional(rules.bytes("-")) : rules.empty();
  return rules.sequence({sign, rules.bytes(text_of(value)), point});
}

std::optional<int64_t> whole_limit(const std::optional<Limit>& limit) {
  if (!limit || limit->value.whole.size() > 17) return std::nullopt;
  const int64_t size = std::stoll(limit->value.whole);
  return limit->value.is_negative ? -size : size;
}

// The multiples between the limits, when they are few whole numbers.
std::optional<ExprId> list_multiples(const MergedSchema& schema, const Limits& limits, RuleSet& rules) {
  const auto first = whole_limit(limits.lower), last = whole_limit(limits.upper);
  if (!first || !last || schema.multiples.empty() || !(schema.types & kIntegerBit)) return std::nullopt;
  const Step step = step_of(*schema.multiples[0]->source);
  if (step.digits > 0 || (*last - *first) / step.modulus > kMaxListed) return std::nullopt;
  std::vector<std::string> texts;
  for (int64_t value = *first / step.modulus * step.modulus - step.modulus; value <= *last + step.modulus;
       value += step.modulus) {
    const Decimal decimal{value < 0, cat(value < 0 ? -value : value), ""};
    const Json number = Json::parse(cat(value), "number");
    const bool is_multiple = std::all_of(schema.multiples.begin(), schema.multiples.end(),
                                         [&](const SchemaNode* node) { return allows_number(*node, number); });
    const bool is_excluded = std::any_of(schema.no_multiples.begin(), schema.no_multiples.end(),
                                         [&](const SchemaNode* node) { return allows_number(*node, number); }) ||
                             std::any_of(schema.excluded.begin(), schema.excluded.end(),
                                         [&](const Json* excluded) { return json_equal(*excluded, number); });
    if (is_within(decimal, limits) && is_multiple && !is_excluded) texts.push_back(cat(value));
  }
  return compile_list(std::move(texts), rules);
}

ExprId compile_product(const MergedSchema& schema, const Limits& limits, bool is_whole, RuleSet& rules) {
  RuleSet chars;
  std::vector<std::unique_ptr<TextMachine>> machines;
  TextProduct product(schema.source->place());
  std::vector<bool> is_opposite;
  const auto add = [&](std::unique_ptr<TextMachine> machine, bool is_not) {
    product.add(*machine, is_not ? TextProduct::Use::kUnwanted : TextProduct::Use::kWanted);
    machines.push_back(std::move(machine));
    is_opposite.push_back(is_not);
  };
  const auto add_expr = [&](ExprId expr, bool is_not) {
    add(std::make_unique<PatternMachine>(chars, expr, schema.source->place()), is_not);
  };
  add_expr(NumberRanges(chars, is_whole ? 0 : kMaxFraction).between(limits.lower, limits.upper), false);
  int64_t remainders = 1;
  for (const bool is_not : {false, true}) {
    for (const SchemaNode* node : is_not ? schema.no_multiples : schema.multiples) {
      const Step step = step_of(*node->source);
      remainders = std::min(kMaxStep, remainders * std::min(step.modulus, kMaxRemainders + 1));
      if (remainders > kMaxRemainders && (!limits.lower || !limits.upper)) {
        throw schema_error(*node->source, cat("multipleOf with more than ", kMaxRemainders,
                                              " remainders is supported only between limits"));
      }
      add(std::make_unique<MultipleMachine>(step), is_not);
    }
  }
  for (const Json* value : schema.excluded) {
    if (value->is_number()) add_expr(same_number(decimal_of(*value), chars), true);
  }
  if (!(schema.types & kIntegerBit)) {
    const ExprId digits = chars.repeat(chars.chars(CodepointSet({{'0', '9'}})), 1, std::nullopt);
    const ExprId zeros = chars.repeat(chars.bytes("0"), 0, std::nullopt);
    add_expr(chars.sequence(
                 {chars.optional(chars.bytes("-")), digits, chars.optional(chars.sequence({chars.bytes("."), zeros}))}),
             true);
  }
  return compile_product(
      product, {}, schema.source->place(), rules, [&](const CodepointSet& set) { return rules.chars(set); },
      [&](int state) {
        for (size_t i = 0; i < is_opposite.size(); ++i) {
          if (product.accepts(state, i) == is_opposite[i]) return rules.never();
        }
        return rules.empty();
      });
}

}  // namespace

ExprId compile_number(const MergedSchema& schema, RuleSet& rules, JsonPieces& pieces) {
  const Limits limits = limits_of(schema);
  bool is_whole = !(schema.types & kFractionBit);
  int max_fraction = kMaxFraction;
  // Multiples of 1, 0.1, 0.01, ... have so many digits behind the point.
  bool is_simple = schema.no_multiples.empty() && (schema.types & kIntegerBit) &&
                   std::none_of(schema.excluded.begin(), schema.excluded.end(),
                                [](const Json* value) { return value->is_number(); });
  for (const SchemaNode* multiple : schema.multiples) {
    const Step step = step_of(*multiple->source);
    is_simple &= step.modulus == 1;
    max_fraction = std::min(max_fraction, step.digits);
    is_whole |= step.digits == 0;
  }
  if (is_simple) {
    if (!limits.lower && !limits.upper && schema.multiples.empty())
      return is_whole ? pieces.integer() : pieces.number();
    NumberRanges ranges(rules, is_whole ? 0 : max_fraction);
    const Decimal zero, one{false, "1", ""};
    const int low = limits.lower ? compare(limits.lower->value, zero) : -1;
    const bool has_small =
        !is_whole && schema.multiples.empty() && low <= 0 && (!limits.upper || compare(limits.upper->value, one) >= 0);
    return rules.choice(
        {ranges.between(limits.lower, limits.upper),
         has_small ? ranges.small_with_exponent(low == 0 && limits.lower->is_exclusive) : rules.never()});
  }
  if (const auto listed = list_multiples(schema, limits, rules)) return *listed;
  return compile_product(schema, limits, is_whole, rules);
}

bool allows_number(const SchemaNode& node, const Json& number) {
  const Decimal value = decimal_of(number);
  if (node.kind == NodeKind::kMultiple) return MultipleMachine(step_of(*node.source)).matches(text_of(value));
  Limits limits;
  add_limits(node, limits);
  return is_within(value, limits);
}

bool has_no_number(const MergedSchema& schema) {
  const Limits limits = limits_of(schema);
  if (!limits.lower || !limits.upper) return false;
  const int order = compare(limits.lower->value, limits.upper->value);
  return order > 0 || (order == 0 && (limits.lower->is_exclusive || limits.upper->is_exclusive));
}

}  // namespace wick::grammar
