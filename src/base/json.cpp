#include "base/json.h"

#include <cmath>

#include "base/mapped_file.h"

namespace wick {
namespace {

std::string_view kind_of(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_bool()) return "true or false";
  if (json.is_number()) return "a number";
  if (json.is_text()) return "text";
  return json.is_array() ? "a list" : "an object";
}

}  // namespace

Json Json::load(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

Error Json::wrong_kind(std::string_view expected) const {
  return {ErrorCode::kBadFile, cat(place_, " is ", kind_of(*this), ", expected ", expected)};
}

Error Json::out_of_range(int64_t value) const {
  return {ErrorCode::kBadFile, cat(place_, " is ", value, ", which is out of range")};
}

bool Json::as_bool() const {
  if (const auto* value = std::get_if<bool>(&value_)) return *value;
  throw wrong_kind("true or false");
}

int64_t Json::as_int() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return *value;
  if (const auto* value = std::get_if<double>(&value_)) {
    if (std::trunc(*value) == *value && std::abs(*value) < 9.0e15) return static_cast<int64_t>(*value);
  }
  throw wrong_kind("a whole number");
}

double Json::as_number() const {
  if (const auto* value = std::get_if<double>(&value_)) return *value;
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  throw wrong_kind("a number");
}

const std::string& Json::as_text() const {
  if (const auto* value = std::get_if<std::string>(&value_)) return *value;
  throw wrong_kind("text");
}

const Json::Array& Json::as_array() const {
  if (const auto* value = std::get_if<Array>(&value_)) return *value;
  throw wrong_kind("a list");
}

const Json::Object& Json::as_object() const {
  if (const auto* value = std::get_if<Object>(&value_)) return *value;
  throw wrong_kind("an object");
}

const Json* Json::find(std::string_view name) const {
  for (const auto& [key, value] : as_object()) {
    if (key == name) return &value;
  }
  return nullptr;
}

const Json& Json::at(std::string_view name) const {
  if (const Json* member = find(name)) return *member;
  throw Error(ErrorCode::kBadFile, cat(place_, ": '", name, "' is missing"));
}

}  // namespace wick
