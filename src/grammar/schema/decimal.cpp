#include "grammar/schema/decimal.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "grammar/schema/schema_graph.h"

namespace wick::grammar {

Decimal decimal_of(const Json& number) {
  if (!number.is_number()) throw schema_error(number, "expected a number");
  std::string text;
  if (const auto whole = small_integer(number)) {
    append_number(text, *whole);
  } else {
    append_number(text, number.as_number());
  }
  Decimal decimal;
  decimal.is_negative = text.starts_with('-');
  if (decimal.is_negative) text.erase(0, 1);
  int exponent = 0;
  if (const size_t e = text.find('e'); e != std::string::npos) {
    exponent = std::atoi(text.c_str() + e + 1);
    text.resize(e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits = text.substr(0, point) + (point < text.size() ? text.substr(point + 1) : "");
  auto whole_digits = static_cast<int64_t>(point) + exponent;
  if (whole_digits < 1) {
    digits.insert(0, static_cast<size_t>(1 - whole_digits), '0');
    whole_digits = 1;
  }
  if (whole_digits > static_cast<int64_t>(digits.size())) digits.resize(static_cast<size_t>(whole_digits), '0');
  decimal.whole = digits.substr(0, static_cast<size_t>(whole_digits));
  decimal.fraction = digits.substr(static_cast<size_t>(whole_digits));
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size() - 1));
  decimal.fraction.resize(decimal.fraction.find_last_not_of('0') + 1);  // npos + 1 == 0
  if (decimal.is_zero()) decimal.is_negative = false;
  return decimal;
}

int compare_whole(const std::string& a, const std::string& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  return a.compare(b);
}

int compare(const Decimal& a, const Decimal& b) {
  if (a.is_negative != b.is_negative) return a.is_negative ? -1 : 1;
  int size = compare_whole(a.whole, b.whole);
  if (size == 0) size = a.fraction.compare(b.fraction);  // as text: no trailing zeros
  return a.is_negative ? -size : size;
}

std::string next_whole(std::string digits) {
  size_t i = digits.size();
  while (i > 0 && digits[i - 1] == '9') digits[--i] = '0';
  if (i == 0) return "1" + digits;
  ++digits[i - 1];
  return digits;
}

std::string previous_whole(std::string digits) {
  size_t i = digits.size();
  while (digits[i - 1] == '0') digits[--i] = '9';
  --digits[i - 1];
  if (digits.size() > 1 && digits[0] == '0') digits.erase(0, 1);
  return digits;
}

}  // namespace wick::grammar
