#include "formats/split_name.h"

#include "base/text.h"

namespace wick {
namespace {

constexpr int kDigits = 5;

std::optional<int> five_digits(std::string_view text) {
  int value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return {};
    value = value * 10 + (c - '0');
  }
  return value;
}

std::string padded(int number) {
  const std::string digits = cat(number);
  return std::string(kDigits > digits.size() ? kDigits - digits.size() : 0, '0') + digits;
}

}  // namespace

std::string SplitName::part(int wanted) const { return cat(stem, "-", padded(wanted), "-of-", padded(count), ".gguf"); }

std::optional<SplitName> parse_split_name(std::string_view name) {
  constexpr std::string_view kForm = "-00000-of-00000.gguf";
  if (name.size() < kForm.size()) return {};
  const std::string_view tail = name.substr(name.size() - kForm.size());
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-" || tail.substr(15) != ".gguf") return {};
  const auto number = five_digits(tail.substr(1, kDigits));
  const auto count = five_digits(tail.substr(10, kDigits));
  if (!number || !count) return {};
  return SplitName{std::string(name.substr(0, name.size() - kForm.size())), *number, *count};
}

}  // namespace wick
