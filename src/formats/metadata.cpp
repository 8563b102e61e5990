#include "formats/metadata.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

Error bad_value(std::string_view source, std::string_view key, std::string_view what) {
  return {ErrorCode::kBadFile, cat(source, source.empty() ? "" : ": ", in_quotes(key), " ", what)};
}

bool is_integer(MetaType type) {
  return type != MetaType::kF32 && type != MetaType::kF64 && type != MetaType::kBool && type < MetaType::kText;
}

template <typename T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// Calls body with a value of the C++ type of a number.
template <typename Body>
void visit_number(MetaType type, const Body& body) {
  switch (type) {
    case MetaType::kU8:
    case MetaType::kBool: return body(uint8_t{});
    case MetaType::kI8: return body(int8_t{});
    case MetaType::kU16: return body(uint16_t{});
    case MetaType::kI16: return body(int16_t{});
    case MetaType::kU32: return body(uint32_t{});
    case MetaType::kI32: return body(int32_t{});
    case MetaType::kU64: return body(uint64_t{});
    case MetaType::kI64: return body(int64_t{});
    case MetaType::kF32: return body(float{});
    case MetaType::kF64: return body(double{});
    default: return;
  }
}

Error wrong_elements(const MetaArray& array, std::string_view key, std::string_view expected) {
  return bad_value(array.source ? std::string_view(*array.source) : std::string_view(), key,
                   cat("is an array of ", to_string(array.type), ", expected ", expected));
}

// Elements whose encoding is exactly that of T.
template <typename T>
MetaValue array_of(MetaType type, const std::vector<T>& values) {
  const auto owner = std::make_shared<const std::vector<T>>(values);
  return {MetaType::kArray,
          MetaArray{type, static_cast<int64_t>(owner->size()), std::as_bytes(std::span(*owner)), owner, nullptr}};
}

}  // namespace

std::string_view to_string(MetaType type) {
  constexpr std::string_view kNames[] = {"u8",   "i8",   "u16",   "i16", "u32", "i32", "f32",
                                         "bool", "text", "array", "u64", "i64", "f64"};
  return kNames[static_cast<int>(type)];
}

std::vector<std::string_view> MetaArray::texts(std::string_view key) const {
  if (type != MetaType::kText) throw wrong_elements(*this, key, "an array of text");
  std::vector<std::string_view> result;
  result.reserve(count);
  auto rest = bytes;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t length = rest.size() < sizeof(length) ? UINT64_MAX : load<uint64_t>(rest.data());
    // Checked when the file was opened; another process may have written to it since.
    if (length > rest.size() - std::min(rest.size(), sizeof(length))) {
      throw bad_value(source ? std::string_view(*source) : std::string_view(), key, "changed while the file was open");
    }
    result.emplace_back(reinterpret_cast<const char*>(rest.data()) + sizeof(length), length);
    rest = rest.subspan(sizeof(length) + length);
  }
  return result;
}

std::vector<int64_t> MetaArray::integers(std::string_view key) const {
  if (!is_integer(type) && type != MetaType::kBool) throw wrong_elements(*this, key, "an array of integers");
  std::vector<int64_t> result(count);
  visit_number(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) {
      const auto value = +load<T>(bytes.data() + i * sizeof(T));
      if constexpr (std::is_same_v<T, uint64_t>) {
        if (value > INT64_MAX) throw wrong_elements(*this, key, cat("numbers below 2^63 but found ", value));
      }
      result[i] = static_cast<int64_t>(value);
    }
  });
  return result;
}

std::vector<double> MetaArray::numbers(std::string_view key) const {
  const bool is_number = type == MetaType::kF32 || type == MetaType::kF64 || is_integer(type);
  if (!is_number) throw wrong_elements(*this, key, "an array of numbers");
  std::vector<double> result(count);
  visit_number(type, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < count; ++i) result[i] = static_cast<double>(load<T>(bytes.data() + i * sizeof(T)));
  });
  return result;
}

const MetaValue* Metadata::find(std::string_view key) const {
  for (const auto& [name, value] : items_) {
    if (name == key) return &value;
  }
  return nullptr;
}

const MetaValue& Metadata::at(std::string_view key) const {
  if (const MetaValue* value = find(key)) return *value;
  throw bad_value(source_, key, "is missing");
}

Error Metadata::wrong_kind(std::string_view key, const MetaValue& value, std::string_view expected) const {
  return bad_value(source_, key, cat("is ", to_string(value.type), ", expected ", expected));
}

const std::string& Metadata::text(std::string_view key) const {
  const MetaValue& value = at(key);
  if (const auto* found = std::get_if<std::string>(&value.value)) return *found;
  throw wrong_kind(key, value, "text");
}

int64_t Metadata::integer(std::string_view key) const {
  const MetaValue& value = at(key);
  if (const auto* found = std::get_if<int64_t>(&value.value)) return *found;
  if (const auto* found = std::get_if<uint64_t>(&value.value)) {
    if (*found > INT64_MAX) throw bad_value(source_, key, cat("is ", *found, ", which is out of range"));
    return static_cast<int64_t>(*found);
  }
  throw wrong_kind(key, value, "an integer");
}

double Metadata::number(std::string_view key) const {
  const MetaValue& value = at(key);
  if (const auto* found = std::get_if<double>(&value.value)) return *found;
  if (const auto* found = std::get_if<int64_t>(&value.value)) return static_cast<double>(*found);
  if (const auto* found = std::get_if<uint64_t>(&value.value)) return static_cast<double>(*found);
  throw wrong_kind(key, value, "a number");
}

bool Metadata::boolean(std::string_view key) const {
  const MetaValue& value = at(key);
  if (const auto* found = std::get_if<bool>(&value.value)) return *found;
  throw wrong_kind(key, value, "true or false");
}

const MetaArray& Metadata::array(std::string_view key) const {
  const MetaValue& value = at(key);
  if (const auto* found = std::get_if<MetaArray>(&value.value)) return *found;
  throw wrong_kind(key, value, "an array");
}

void Metadata::append(std::string key, MetaValue value) { items_.emplace_back(std::move(key), std::move(value)); }

void Metadata::set(std::string key, MetaValue value) {
  if (const MetaValue* old = find(key)) {
    *const_cast<MetaValue*>(old) = std::move(value);
  } else {
    append(std::move(key), std::move(value));
  }
}

void Metadata::set_text(std::string key, std::string value) {
  set(std::move(key), {MetaType::kText, std::move(value)});
}
void Metadata::set_u32(std::string key, uint32_t value) { set(std::move(key), {MetaType::kU32, uint64_t{value}}); }
void Metadata::set_f32(std::string key, float value) { set(std::move(key), {MetaType::kF32, double{value}}); }
void Metadata::set_bool(std::string key, bool value) { set(std::move(key), {MetaType::kBool, value}); }

void Metadata::set_texts(std::string key, const std::vector<std::string>& values) {
  std::vector<std::byte> encoded;
  for (const std::string& value : values) {
    const uint64_t length = value.size();
    const auto head = std::as_bytes(std::span(&length, 1));
    const auto body = std::as_bytes(std::span(value));
    encoded.insert(encoded.end(), head.begin(), head.end());
    encoded.insert(encoded.end(), body.begin(), body.end());
  }
  MetaValue value = array_of(MetaType::kText, encoded);
  std::get<MetaArray>(value.value).count = static_cast<int64_t>(values.size());
  set(std::move(key), std::move(value));
}

void Metadata::set_i32s(std::string key, const std::vector<int32_t>& values) {
  set(std::move(key), array_of(MetaType::kI32, values));
}

void Metadata::set_f32s(std::string key, const std::vector<float>& values) {
  set(std::move(key), array_of(MetaType::kF32, values));
}

void Metadata::erase(std::string_view key) {
  std::erase_if(items_, [&](const auto& item) { return item.first == key; });
}

}  // namespace wick
