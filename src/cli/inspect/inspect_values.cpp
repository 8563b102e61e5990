#include "cli/inspect/inspect_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/terminal/terminal.h"
#include "formats/gguf/gguf_metadata.h"

namespace wick {
namespace {

constexpr int64_t kFewElements = 64;
constexpr int64_t kFirstElements = 8;

bool is_float_type(MetaType type) { return type == MetaType::kF32 || type == MetaType::kF64; }

// The first `count` elements as an array by itself, so that the rest is not decoded.
MetaArray beginning(const MetaArray& array, int64_t count) {
  MetaArray part = array;
  part.count = std::min(count, array.count);
  const int64_t size = size_of(array.type);
  if (size > 0) part.bytes = array.bytes.first(static_cast<size_t>(part.count * size));
  return part;
}

nlohmann::ordered_json elements(const std::string& key, const MetaArray& array) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  if (array.type == MetaType::kArray) return out;  // arrays inside arrays are counted only
  if (array.type == MetaType::kText) {
    for (const std::string_view text : array.texts(key)) out.push_back(std::string(text));
  } else if (is_float_type(array.type)) {
    for (const double number : array.numbers(key)) out.push_back(number);
  } else {
    for (const int64_t number : array.integers(key)) out.push_back(number);
  }
  return out;
}

}  // namespace

std::string count_text(int64_t count) {
  constexpr std::array<const char*, 5> kUnits = {"", " K", " M", " B", " T"};
  auto value = static_cast<double>(count);
  size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  if (unit == 0) return fmt::format("{}", count);
  return fmt::format("{:.{}f}{}", value, value >= 99.5 ? 0 : value >= 9.995 ? 1 : 2, kUnits[unit]);
}

std::string grouped_digits(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    const bool between = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
    if (between) out += ',';
    out += digits[i];
  }
  return out;
}

std::string type_text(const MetaValue& value) {
  if (value.type != MetaType::kArray) return std::string(to_string(value.type));
  return cat("array of ", to_string(std::get<MetaArray>(value.value).type));
}

std::string value_text(const std::string& key, const MetaValue& value, int most) {
  if (value.type == MetaType::kText) return printable(std::get<std::string>(value.value), most);
  if (value.type != MetaType::kArray) return value_json(key, value, true).dump();
  const auto& array = std::get<MetaArray>(value.value);
  const std::string count = cat(" (", grouped_digits(array.count), ")");
  const bool more = array.count > kFirstElements;
  std::string text;
  for (const auto& element : elements(key, beginning(array, kFirstElements))) {
    if (text.size() > static_cast<size_t>(std::max(most, 0))) break;
    text += text.empty() ? "" : ", ";
    text += element.is_string() ? printable(element.get<std::string>()) : element.dump();
  }
  text = cat("[", text, more ? ", ..." : "", "]");
  return printable(text, std::max(most - display_width(count), 8)) + count;
}

nlohmann::ordered_json value_json(const std::string& key, const MetaValue& value, bool whole) {
  switch (value.type) {
    case MetaType::kText: return std::get<std::string>(value.value);
    case MetaType::kBool: return std::get<bool>(value.value);
    case MetaType::kF32: return std::stod(fmt::format("{}", static_cast<float>(std::get<double>(value.value))));
    case MetaType::kF64: return std::get<double>(value.value);
    case MetaType::kArray: {
      const auto& array = std::get<MetaArray>(value.value);
      if (whole || array.count <= kFewElements) return elements(key, array);
      return {{"type", std::string(to_string(array.type))},
              {"count", array.count},
              {"first", elements(key, beginning(array, kFirstElements))}};
    }
    default: break;
  }
  if (const auto* number = std::get_if<uint64_t>(&value.value)) return *number;
  return std::get<int64_t>(value.value);
}

}  // namespace wick
