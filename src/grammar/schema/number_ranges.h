#pragma once

#include <optional>
#include <string>

#include "grammar/rule_set.h"
#include "grammar/schema/decimal.h"

namespace wick::grammar {

struct Limit {
  Decimal value;
  bool is_exclusive = false;
};

// JSON numbers without exponents between two limits, either of which may be missing.
class NumberRanges {
 public:
  // At most max_fraction digits behind the point; 0: whole numbers only.
  NumberRanges(RuleSet& rules, int max_fraction) : rules_(rules), max_fraction_(max_fraction) {}

  ExprId between(const std::optional<Limit>& lower, const std::optional<Limit>& upper);
  // Numbers from 0 on and below 1, with a negative exponent; 0 itself is not among them when that is excluded.
  ExprId small_with_exponent(bool excludes_zero);
  // Whole numbers from `first` to `last` (no end when empty), without sign.
  ExprId whole_between(const std::string& first, const std::optional<std::string>& last);

 private:
  ExprId digit(char first, char last);
  ExprId digits(int64_t min, std::optional<int64_t> max);
  ExprId same_length(std::string_view first, std::string_view last);
  ExprId positive_between(const Limit& lower, const std::optional<Limit>& upper);
  ExprId fraction_between(const Limit* lower, const Limit* upper, int max_digits);
  ExprId fraction_digits(const Limit* lower, const Limit* upper, size_t at, int max_digits);

  RuleSet& rules_;
  int max_fraction_;
};

}  // namespace wick::grammar
