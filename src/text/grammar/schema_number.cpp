#include "text/grammar/schema_number.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/checked.h"
#include "text/grammar/number_ranges.h"
#include "text/grammar/schema_formats.h"

namespace wick::grammar {
namespace {

constexpr int kMaxFraction = 15;
constexpr int64_t kMaxModulus = 100;
constexpr size_t kMaxMultipleDigits = 15;
constexpr int64_t kMaxListed = 10000;
constexpr int64_t kMaxStep = 1'000'000'000'000'000;

struct NumberFormat {
  std::string_view name, lower, upper;  // no limits: it only describes
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
    {"float", "", ""},
    {"double", "", ""},
};

struct Limits {
  std::optional<Limit> lower, upper;
};

// The strictest of all limits, and those that a format of numbers implies.
Limits limits_of(const MergedSchema& schema) {
  Limits limits;
  const auto tighten = [](std::optional<Limit>& limit, Limit candidate, int direction) {
    if (limit) {
      const int order = compare(candidate.value, limit->value) * direction;
      if (order < 0 || (order == 0 && !candidate.is_exclusive)) return;
    }
    limit = std::move(candidate);
  };
  for (const Bound& bound : schema.minimums) {
    tighten(limits.lower, {decimal_of(*bound.value), bound.is_exclusive}, 1);
  }
  for (const Bound& bound : schema.maximums) {
    tighten(limits.upper, {decimal_of(*bound.value), bound.is_exclusive}, -1);
  }
  for (const Json* format : schema.formats) {
    if (!format->is_text()) throw schema_error(*format, "expected the name of a format");
    const auto known = std::find_if(std::begin(kFormats), std::end(kFormats),
                                    [&](const NumberFormat& f) { return f.name == format->as_text(); });
    if (known != std::end(kFormats)) {
      if (known->lower.empty()) continue;
      const bool is_negative = known->lower[0] == '-';
      tighten(limits.lower, {{is_negative, std::string(known->lower.substr(is_negative)), ""}, false}, 1);
      tighten(limits.upper, {{false, std::string(known->upper), ""}, false}, -1);
    } else if (!format_pattern(format->as_text())) {
      throw schema_error(*format, cat("unknown format '", format->as_text(), "'"));
    }
  }
  return limits;
}

// What multipleOf asks for: at most so many digits behind the point, or multiples of a whole number.
struct Step {
  std::optional<int> fraction_digits;
  int64_t modulus = 1;
};

Step step_of(const MergedSchema& schema) {
  Step step;
  for (const Json* multiple : schema.multiples) {
    const Decimal decimal = decimal_of(*multiple);
    if (decimal.is_negative || decimal.is_zero()) throw schema_error(*multiple, "expected a number above 0");
    if (decimal.is_whole()) {
      const auto value = small_integer(*multiple);
      const auto product = value ? checked_mul(step.modulus, *value / std::gcd(step.modulus, *value)) : std::nullopt;
      if (!product || *product > kMaxStep) throw schema_error(*multiple, "multipleOf is too large");
      step.modulus = *product;
      step.fraction_digits = 0;
    } else if (decimal.whole == "0" && decimal.fraction.find_first_not_of('0') == decimal.fraction.size() - 1 &&
               decimal.fraction.back() == '1') {
      const auto digits = static_cast<int>(decimal.fraction.size());
      step.fraction_digits = std::min(step.fraction_digits.value_or(digits), digits);
    } else {
      throw schema_error(*multiple, "multipleOf is supported for whole numbers and for 0.1, 0.01, ...");
    }
  }
  return step;
}

ExprId compile_modulus(const Json& at, const Limits& limits, int64_t modulus, RuleSet& rules) {
  const bool no_sign = limits.lower && limits.lower->value.is_zero() && !limits.lower->is_exclusive;
  if (modulus > kMaxModulus || limits.upper || (limits.lower && !no_sign)) {
    throw schema_error(at, cat("multipleOf is supported up to ", kMaxModulus,
                               " and with no limit but a minimum of 0, or with at most ", kMaxListed,
                               " multiples between the limits"));
  }
  // rules[left][remainder]: what may follow when so many digits are left and those read have this remainder.
  std::vector<std::vector<RuleId>> by_remainder(kMaxMultipleDigits);
  for (auto& rules_left : by_remainder) {
    for (int64_t i = 0; i < modulus; ++i) rules_left.push_back(rules.add_rule(cat("multiples of ", modulus)));
  }
  const auto digits_from = [&](size_t left, int64_t remainder, int first_digit) {
    std::vector<ExprId> options;
    for (int digit = first_digit; digit <= 9 && left > 0; ++digit) {
      const char text = static_cast<char>('0' + digit);
      const auto next = static_cast<size_t>((remainder * 10 + digit) % modulus);
      options.push_back(
          rules.sequence({rules.bytes(std::string_view(&text, 1)), rules.call(by_remainder[left - 1][next])}));
    }
    if (first_digit == 0 && remainder == 0) options.push_back(rules.empty());
    return rules.choice(std::move(options));
  };
  for (size_t left = 0; left < by_remainder.size(); ++left) {
    for (int64_t i = 0; i < modulus; ++i)
      rules.define(by_remainder[left][static_cast<size_t>(i)], digits_from(left, i, 0));
  }
  const ExprId positive = digits_from(kMaxMultipleDigits, 0, 1);
  const ExprId signed_number = no_sign ? positive : rules.sequence({rules.optional(rules.bytes("-")), positive});
  return rules.choice({rules.bytes("0"), signed_number});
}

std::optional<int64_t> whole_limit(const std::optional<Limit>& limit) {
  if (!limit || limit->value.whole.size() > 17) return std::nullopt;
  const int64_t size = std::stoll(limit->value.whole);
  return limit->value.is_negative ? -size : size;
}

ExprId compile_multiples(const MergedSchema& schema, const Limits& limits, int64_t modulus, RuleSet& rules) {
  const auto first = whole_limit(limits.lower), last = whole_limit(limits.upper);
  if (!first || !last || (*last - *first) / modulus > kMaxListed) {
    return compile_modulus(*schema.multiples[0], limits, modulus, rules);
  }
  std::vector<ExprId> options;
  const auto decimal = [](int64_t value) { return Decimal{value < 0, cat(value < 0 ? -value : value), ""}; };
  for (int64_t value = *first / modulus * modulus - modulus; value <= *last + modulus; value += modulus) {
    const int low = compare(decimal(value), limits.lower->value), high = compare(decimal(value), limits.upper->value);
    if (low < 0 || (low == 0 && limits.lower->is_exclusive)) continue;
    if (high > 0 || (high == 0 && limits.upper->is_exclusive)) continue;
    options.push_back(rules.bytes(cat(value)));
  }
  return rules.choice(std::move(options));
}

}  // namespace

ExprId compile_number(const MergedSchema& schema, RuleSet& rules, JsonPieces& pieces) {
  const Limits limits = limits_of(schema);
  const Step step = step_of(schema);
  const bool is_whole = !(schema.types & kFractionBit) || step.fraction_digits == 0;
  if (step.modulus > 1) return compile_multiples(schema, limits, step.modulus, rules);
  if (!limits.lower && !limits.upper && !step.fraction_digits) return is_whole ? pieces.integer() : pieces.number();
  const int max_fraction = is_whole ? 0 : std::min(step.fraction_digits.value_or(kMaxFraction), kMaxFraction);
  return NumberRanges(rules, max_fraction).between(limits.lower, limits.upper);
}

bool allows_number(const MergedSchema& schema, const Json& number) {
  const Decimal value = decimal_of(number);
  if (!value.is_whole() && !(schema.types & kFractionBit)) return false;
  const Limits limits = limits_of(schema);
  const int low = limits.lower ? compare(value, limits.lower->value) : 1;
  const int high = limits.upper ? compare(value, limits.upper->value) : -1;
  if (low < 0 || (low == 0 && limits.lower->is_exclusive)) return false;
  if (high > 0 || (high == 0 && limits.upper->is_exclusive)) return false;
  const Step step = step_of(schema);
  if (step.fraction_digits && static_cast<int>(value.fraction.size()) > *step.fraction_digits) return false;
  if (step.modulus == 1) return true;
  const auto whole = small_integer(number);
  return whole && *whole % step.modulus == 0;
}

}  // namespace wick::grammar
