#include "grammar/schema/number_ranges.h"

#include <algorithm>

#include "grammar/schema/json_pieces.h"

namespace wick::grammar {
namespace {

// A double tells apart decimals of this many digits: with more, a number above an exclusive limit could be read as
// the limit.
constexpr int kExactDigits = 15;

const Limit& zero(bool is_exclusive) {
  static const Limit kIncluded{{}, false}, kExcluded{{}, true};
  return is_exclusive ? kExcluded : kIncluded;
}

Limit negated(Limit limit) {
  if (!limit.value.is_zero()) limit.value.is_negative = !limit.value.is_negative;
  return limit;
}

}  // namespace

ExprId NumberRanges::digit(char first, char last) {
  return rules_.chars(CodepointSet({{static_cast<uint8_t>(first), static_cast<uint8_t>(last)}}));
}

ExprId NumberRanges::digits(int64_t min, std::optional<int64_t> max) {
  return rules_.repeat(digit('0', '9'), min, max);
}

// Numbers of the same count of digits.
ExprId NumberRanges::same_length(std::string_view first, std::string_view last) {
  size_t common = 0;
  while (common < first.size() && first[common] == last[common]) ++common;
  const ExprId prefix = rules_.bytes(first.substr(0, common));
  if (common == first.size()) return prefix;
  const std::string_view low = first.substr(common), high = last.substr(common);
  const auto rest = static_cast<int64_t>(low.size()) - 1;
  const std::string zeros(static_cast<size_t>(rest), '0'), nines(static_cast<size_t>(rest), '9');
  char low_digit = low[0], high_digit = high[0];
  std::vector<ExprId> options;
  if (low.substr(1) != zeros) {
    options.push_back(rules_.sequence({digit(low_digit, low_digit), same_length(low.substr(1), nines)}));
    ++low_digit;
  }
  if (high.substr(1) != nines) {
    options.push_back(rules_.sequence({digit(high_digit, high_digit), same_length(zeros, high.substr(1))}));
    --high_digit;
  }
  if (low_digit <= high_digit) {
    options.push_back(rules_.sequence({digit(low_digit, high_digit), digits(rest, rest)}));
  }
  return rules_.sequence({prefix, rules_.choice(std::move(options))});
}

ExprId NumberRanges::whole_between(const std::string& first, const std::optional<std::string>& last) {
  if (last && compare_whole(first, *last) > 0) return rules_.never();
  std::vector<ExprId> options;
  const size_t longest = last ? last->size() : first.size();
  for (size_t length = first.size(); length <= longest; ++length) {
    std::string low = first;
    if (length > first.size()) {
      low.assign(length, '0');
      low[0] = '1';
    }
    const std::string high = last && length == last->size() ? *last : std::string(length, '9');
    options.push_back(same_length(low, high));
  }
  if (!last) {
    const auto least = static_cast<int64_t>(first.size());  // behind the first digit: one digit more in all
    const int64_t most = std::max<int64_t>(least, JsonPieces::kMaxWholeDigits - 1);
    options.push_back(rules_.sequence({digit('1', '9'), digits(least, most)}));
  }
  return rules_.choice(std::move(options));
}

ExprId NumberRanges::between(const std::optional<Limit>& lower, const std::optional<Limit>& upper) {
  std::vector<ExprId> options;
  const bool allows_negative = !lower || lower->value.is_negative;
  const bool allows_positive = !upper || !upper->value.is_negative;
  if (allows_negative) {
    // Zero is written without a sign.
    const Limit from = upper && upper->value.is_negative ? negated(*upper) : zero(true);
    const std::optional<Limit> to = lower ? std::optional(negated(*lower)) : std::nullopt;
    options.push_back(rules_.sequence({rules_.bytes("-"), positive_between(from, to)}));
  }
  if (allows_positive) {
    options.push_back(positive_between(lower && !lower->value.is_negative ? *lower : zero(false), upper));
  }
  return rules_.choice(std::move(options));
}

ExprId NumberRanges::small_with_exponent(bool excludes_zero) {
  const auto letter = [&](char a, char b) {
    return rules_.chars(CodepointSet(
        {{static_cast<uint8_t>(a), static_cast<uint8_t>(a)}, {static_cast<uint8_t>(b), static_cast<uint8_t>(b)}}));
  };
  const ExprId fraction = rules_.sequence({rules_.bytes("."), digits(1, kExactDigits - 1)});
  const ExprId exponent = rules_.choice(
      {rules_.sequence({digit('1', '9'), digits(0, 1)}), rules_.sequence({rules_.bytes("0"), digit('1', '9')})});
  return rules_.sequence({digit(excludes_zero ? '1' : '0', '9'), rules_.optional(fraction), letter('e', 'E'),
                          rules_.bytes("-"), exponent});
}

ExprId NumberRanges::positive_between(const Limit& lower, const std::optional<Limit>& upper) {
  if (upper) {
    const int order = compare(lower.value, upper->value);
    if (order > 0 || (order == 0 && (lower.is_exclusive || upper->is_exclusive))) return rules_.never();
  }
  const std::string& low = lower.value.whole;
  const auto digits_at = [&](const std::string& whole) {
    return std::min(max_fraction_, std::max(0, kExactDigits - static_cast<int>(whole.size())));
  };
  if (upper && upper->value.whole == low) {
    return rules_.sequence({rules_.bytes(low), fraction_between(&lower, &*upper, digits_at(low))});
  }
  std::vector<ExprId> options = {
      rules_.sequence({rules_.bytes(low), fraction_between(&lower, nullptr, digits_at(low))})};
  std::optional<std::string> last_between;
  if (upper) {
    const std::string& high = upper->value.whole;
    options.push_back(rules_.sequence({rules_.bytes(high), fraction_between(nullptr, &*upper, digits_at(high))}));
    last_between = previous_whole(high);
  }
  options.push_back(rules_.sequence(
      {whole_between(next_whole(low), last_between), fraction_between(nullptr, nullptr, max_fraction_)}));
  return rules_.choice(std::move(options));
}

// What may follow a whole part equal to that of the limits given: nothing, or a point and digits.
ExprId NumberRanges::fraction_between(const Limit* lower, const Limit* upper, int max_digits) {
  std::vector<ExprId> options;
  const bool zero_is_enough = !lower || (lower->value.fraction.empty() && !lower->is_exclusive);
  const bool zero_is_not_too_much = !upper || !upper->value.fraction.empty() || !upper->is_exclusive;
  if (zero_is_enough && zero_is_not_too_much) options.push_back(rules_.empty());
  if (max_digits > 0) {
    options.push_back(rules_.sequence({rules_.bytes("."), fraction_digits(lower, upper, 0, max_digits)}));
  }
  return rules_.choice(std::move(options));
}

// The digits from `at` on, when those before equal the limits that are given.
ExprId NumberRanges::fraction_digits(const Limit* lower, const Limit* upper, size_t at, int max_digits) {
  if (lower && at >= lower->value.fraction.size() && !lower->is_exclusive) lower = nullptr;
  const auto left = [&] { return at == 0 ? digits(1, max_digits) : digits(0, max_digits); };
  if (!lower && !upper) return left();
  std::vector<ExprId> options;
  if (at > 0) {
    const bool is_enough = !lower;
    const bool is_not_too_much = !upper || at < upper->value.fraction.size() || !upper->is_exclusive;
    if (is_enough && is_not_too_much) options.push_back(rules_.empty());
  }
  if (max_digits > 0) {
    const auto digit_of = [&](const Limit& limit) {
      return at < limit.value.fraction.size() ? limit.value.fraction[at] : '0';
    };
    const char low = lower ? digit_of(*lower) : '0', high = upper ? digit_of(*upper) : '9';
    const auto with = [&](char first, char last, const Limit* still_lower, const Limit* still_upper) {
      if (first > last) return;
      options.push_back(
          rules_.sequence({digit(first, last), fraction_digits(still_lower, still_upper, at + 1, max_digits - 1)}));
    };
    if (low == high) {
      with(low, low, lower, upper);
    } else {
      if (lower) with(low, low, lower, nullptr);
      if (upper) with(high, high, nullptr, upper);
      with(static_cast<char>(low + (lower ? 1 : 0)), static_cast<char>(high - (upper ? 1 : 0)), nullptr, nullptr);
    }
  }
  return rules_.choice(std::move(options));
}

}  // namespace wick::grammar
