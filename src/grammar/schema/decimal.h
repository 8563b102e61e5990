#pragma once

#include <string>

#include "base/json.h"

namespace wick::grammar {

// A decimal number as digits: -12.5 is {true, "12", "5"}. The whole part has no leading zeros but for "0" itself, the
// fraction no trailing ones. Zero is not negative.
struct Decimal {
  bool is_negative = false;
  std::string whole = "0";
  std::string fraction;

  bool is_zero() const { return whole == "0" && fraction.empty(); }
  bool is_whole() const { return fraction.empty(); }
  bool operator==(const Decimal&) const = default;
};

// The shortest decimal that reads back as the same number. Throws Error(kInvalidArgument) unless it is a number.
Decimal decimal_of(const Json& number);

// Negative, zero or positive, like a - b.
int compare(const Decimal& a, const Decimal& b);
// The same for whole parts without signs.
int compare_whole(const std::string& a, const std::string& b);
// Whole part plus or minus one; minus one of "0" is not defined.
std::string next_whole(std::string digits);
std::string previous_whole(std::string digits);

}  // namespace wick::grammar
