#include "base/json.h"

#include <simdjson.h>

#include <cmath>
#include <unordered_set>

#include "base/mapped_file.h"

namespace wick {
namespace {

constexpr size_t kMaxDepth = 256;

std::string_view kind_of(const Json& json) {
  if (json.is_null()) return "null";
  if (json.is_bool()) return "true or false";
  if (json.is_number()) return "a number";
  if (json.is_text()) return "text";
  return json.is_array() ? "a list" : "an object";
}

}  // namespace

// Copies simdjson's view of the document into Json values.
class JsonBuilder {
 public:
  explicit JsonBuilder(std::string_view source) : source_(source) {}

  Json build(simdjson::dom::element element, const std::string& path) {
    using simdjson::dom::element_type;
    Json json;
    json.place_ = path.empty() ? source_ : cat(source_, ": '", path, "'");
    switch (element.type()) {
      case element_type::NULL_VALUE: break;
      case element_type::BOOL: json.value_ = element.get_bool().value_unsafe(); break;
      case element_type::INT64: json.value_ = element.get_int64().value_unsafe(); break;
      case element_type::UINT64: json.value_ = element.get_uint64().value_unsafe(); break;
      case element_type::DOUBLE: json.value_ = element.get_double().value_unsafe(); break;
      case element_type::STRING: json.value_ = std::string(element.get_string().value_unsafe()); break;
      case element_type::ARRAY: {
        Json::Array items;
        const simdjson::dom::array array = element.get_array().value_unsafe();
        for (const auto item : array) {
          items.push_back(build(item, cat(path, "[", items.size(), "]")));
        }
        json.value_ = std::move(items);
        break;
      }
      case element_type::OBJECT: {
        Json::Object members;
        std::unordered_set<std::string_view> names;
        const simdjson::dom::object object = element.get_object().value_unsafe();
        for (const auto& [name, value] : object) {
          if (!names.insert(name).second) {
            throw Error(ErrorCode::kBadFile, cat(json.place_, ": the name '", name, "' is given twice"));
          }
          members.emplace_back(std::string(name),
                               build(value, path.empty() ? std::string(name) : cat(path, ".", name)));
        }
        json.value_ = std::move(members);
        break;
      }
    }
    return json;
  }

 private:
  std::string source_;
};

Json Json::parse(std::string_view text, std::string_view source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  auto problem = parser.allocate(std::max<size_t>(text.size(), 64), kMaxDepth);
  if (!problem) problem = parser.parse(text.data(), text.size()).get(root);
  if (problem) throw Error(ErrorCode::kBadFile, cat(source, ": not valid JSON: ", simdjson::error_message(problem)));
  return JsonBuilder(source).build(root, "");
}

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
