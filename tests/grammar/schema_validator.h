#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <regex>
#include <set>
#include <string>

#include "base/json.h"

namespace wick {

// A plain JSON Schema validator for tests: validates a value against the keywords the tests use. Shares nothing with
// the compiler of schemas.
class SchemaValidator {
 public:
  explicit SchemaValidator(const Json& root) : root_(root) {}

  bool is_valid(const Json& value) const { return is_valid(root_, value); }

 private:
  static size_t length_of(const std::string& text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
  }

  // Patterns are about characters, not bytes.
  static std::wstring wide(const std::string& utf8) {
    std::wstring out;
    for (size_t i = 0; i < utf8.size();) {
      const auto lead = static_cast<unsigned char>(utf8[i]);
      const size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      auto codepoint = static_cast<wchar_t>(length == 1 ? lead : lead & (0x7F >> length));
      for (size_t j = 1; j < length; ++j) codepoint = static_cast<wchar_t>(codepoint << 6 | (utf8[i + j] & 0x3F));
      out += codepoint;
      i += length;
    }
    return out;
  }
  static bool is_found(const std::string& pattern, const std::string& text) {
    return std::regex_search(wide(text), std::wregex(wide(pattern)));
  }

  static bool is_equal(const Json& a, const Json& b) {
    if (a.is_number() && b.is_number()) return a.as_number() == b.as_number();
    if (a.is_text() && b.is_text()) return a.as_text() == b.as_text();
    if (a.is_bool() && b.is_bool()) return a.as_bool() == b.as_bool();
    if (a.is_null() && b.is_null()) return true;
    if (a.is_array() && b.is_array()) {
      return std::equal(a.as_array().begin(), a.as_array().end(), b.as_array().begin(), b.as_array().end(), is_equal);
    }
    if (!a.is_object() || !b.is_object() || a.as_object().size() != b.as_object().size()) return false;
    for (const auto& [name, item] : a.as_object()) {
      if (!b.find(name) || !is_equal(item, *b.find(name))) return false;
    }
    return true;
  }

  static bool has_type(const std::string& type, const Json& value) {
    if (type == "null") return value.is_null();
    if (type == "boolean") return value.is_bool();
    if (type == "string") return value.is_text();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    if (type == "number") return value.is_number();
    return type == "integer" && value.is_number() && std::trunc(value.as_number()) == value.as_number();
  }

  const Json& resolve(const std::string& reference) const {
    const Json* at = &root_;
    for (size_t start = 2; start < reference.size();) {
      const size_t end = std::min(reference.find('/', start), reference.size());
      at = &at->at(reference.substr(start, end - start));
      start = end + 1;
    }
    return *at;
  }

  // What of a list or an object has been looked at by the schemas that hold.
  struct Evaluated {
    std::set<std::string> names;
    size_t items = 0;
    std::set<size_t> contained;
  };

  bool is_valid(const Json& schema, const Json& value) const {
    Evaluated evaluated;
    return is_valid(schema, value, evaluated);
  }

  bool is_valid(const Json& schema, const Json& value, Evaluated& evaluated) const {
    if (schema.is_bool()) return schema.as_bool();
    Evaluated here;
    for (const auto& [keyword, argument] : schema.as_object()) {
      if (!keyword.starts_with("unevaluated") && !satisfies(schema, keyword, argument, value, here)) return false;
    }
    if (const Json* argument = schema.find("unevaluatedItems"); argument && value.is_array()) {
      for (size_t i = here.items; i < value.as_array().size(); ++i) {
        if (!here.contained.count(i) && !is_valid(*argument, value.as_array()[i])) return false;
      }
      here.items = value.as_array().size();
    }
    if (const Json* argument = schema.find("unevaluatedProperties"); argument && value.is_object()) {
      for (const auto& [name, item] : value.as_object()) {
        if (!here.names.count(name) && !is_valid(*argument, item)) return false;
        here.names.insert(name);
      }
    }
    evaluated.names.insert(here.names.begin(), here.names.end());
    evaluated.items = std::max(evaluated.items, here.items);
    evaluated.contained.insert(here.contained.begin(), here.contained.end());
    return true;
  }

  bool satisfies(const Json& schema, const std::string& keyword, const Json& argument, const Json& value,
                 Evaluated& evaluated) const {
    const auto count_valid = [&] {
      return std::count_if(argument.as_array().begin(), argument.as_array().end(),
                           [&](const Json& option) { return is_valid(option, value, evaluated); });
    };
    if (keyword == "$ref") return is_valid(resolve(argument.as_text()), value, evaluated);
    if (keyword == "anyOf") return count_valid() > 0;
    if (keyword == "oneOf") return count_valid() == 1;
    if (keyword == "allOf") return count_valid() == static_cast<long>(argument.as_array().size());
    if (keyword == "not") return !is_valid(argument, value);
    if (keyword == "if") {
      const Json* next = schema.find(is_valid(argument, value, evaluated) ? "then" : "else");
      return !next || is_valid(*next, value, evaluated);
    }
    if (keyword == "const") return is_equal(argument, value);
    if (keyword == "enum") {
      return std::any_of(argument.as_array().begin(), argument.as_array().end(),
                         [&](const Json& item) { return is_equal(item, value); });
    }
    if (keyword == "type") {
      if (argument.is_text()) return has_type(argument.as_text(), value);
      return std::any_of(argument.as_array().begin(), argument.as_array().end(),
                         [&](const Json& type) { return has_type(type.as_text(), value); });
    }
    if (value.is_number()) {
      const double number = value.as_number();
      if (keyword == "minimum") return number >= argument.as_number();
      if (keyword == "maximum") return number <= argument.as_number();
      if (keyword == "exclusiveMinimum") return number > argument.as_number();
      if (keyword == "exclusiveMaximum") return number < argument.as_number();
      if (keyword == "multipleOf") {
        const double ratio = number / argument.as_number();
        return std::abs(ratio - std::round(ratio)) < 1e-6 * std::max(1.0, std::abs(ratio));
      }
    }
    if (value.is_text()) {
      const std::string& text = value.as_text();
      if (keyword == "minLength") return length_of(text) >= static_cast<size_t>(argument.as_int());
      if (keyword == "maxLength") return length_of(text) <= static_cast<size_t>(argument.as_int());
      if (keyword == "pattern") return is_found(argument.as_text(), text);
    }
    if (value.is_array()) return array_satisfies(schema, keyword, argument, value.as_array(), evaluated);
    if (value.is_object()) return object_satisfies(schema, keyword, argument, value, evaluated);
    return true;
  }

  bool array_satisfies(const Json& schema, const std::string& keyword, const Json& argument, const Json::Array& items,
                       Evaluated& evaluated) const {
    if (keyword == "minItems") return items.size() >= static_cast<size_t>(argument.as_int());
    if (keyword == "maxItems") return items.size() <= static_cast<size_t>(argument.as_int());
    if (keyword == "uniqueItems" && argument.as_bool()) {
      for (size_t i = 0; i < items.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (is_equal(items[i], items[j])) return false;
        }
      }
    }
    if (keyword == "contains") {
      int64_t count = 0;
      for (size_t i = 0; i < items.size(); ++i) {
        if (!is_valid(argument, items[i])) continue;
        ++count;
        evaluated.contained.insert(i);
      }
      return count >= schema.get("minContains", int64_t{1}) && count <= schema.get("maxContains", INT64_MAX);
    }
    const size_t prefix = schema.find("prefixItems") ? schema.at("prefixItems").as_array().size() : 0;
    if (keyword == "prefixItems") {
      for (size_t i = 0; i < std::min(prefix, items.size()); ++i) {
        if (!is_valid(argument.as_array()[i], items[i])) return false;
      }
      evaluated.items = std::max(evaluated.items, prefix);
    }
    if (keyword == "items") {
      for (size_t i = prefix; i < items.size(); ++i) {
        if (!is_valid(argument, items[i])) return false;
      }
      evaluated.items = items.size();
    }
    return true;
  }

  bool object_satisfies(const Json& schema, const std::string& keyword, const Json& argument, const Json& object,
                        Evaluated& evaluated) const {
    const auto has_all = [&](const Json& names) {
      return std::all_of(names.as_array().begin(), names.as_array().end(),
                         [&](const Json& name) { return object.find(name.as_text()); });
    };
    if (keyword == "required") return has_all(argument);
    if (keyword == "minProperties") return object.as_object().size() >= static_cast<size_t>(argument.as_int());
    if (keyword == "maxProperties") return object.as_object().size() <= static_cast<size_t>(argument.as_int());
    if (keyword == "dependencies" || keyword == "dependentRequired" || keyword == "dependentSchemas") {
      return std::all_of(argument.as_object().begin(), argument.as_object().end(), [&](const Json::Member& dependency) {
        if (!object.find(dependency.first)) return true;
        return dependency.second.is_array() ? has_all(dependency.second)
                                            : is_valid(dependency.second, object, evaluated);
      });
    }
    const bool is_about_members =
        keyword == "properties" || keyword == "patternProperties" || keyword == "additionalProperties";
    for (const auto& [name, item] : object.as_object()) {
      if (keyword == "propertyNames" && !is_valid(argument, Json::parse("\"" + name + "\"", "name"))) return false;
      if (!is_about_members) continue;
      const Json* properties = schema.find("properties");
      const Json* patterns = schema.find("patternProperties");
      const bool is_named = properties && properties->find(name);
      bool has_pattern = false;
      if (patterns) {
        for (const auto& [pattern, value] : patterns->as_object()) {
          if (!is_found(pattern, name)) continue;
          has_pattern = true;
          if (!is_valid(value, item)) return false;
        }
      }
      if (keyword == "properties" && is_named && !is_valid(argument.at(name), item)) return false;
      if (keyword == "additionalProperties" && !is_named && !has_pattern && !is_valid(argument, item)) return false;
      if (is_named || has_pattern || schema.find("additionalProperties")) evaluated.names.insert(name);
    }
    return true;
  }

  const Json& root_;
};

}  // namespace wick
