#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace wick {

// A JSON document as a value, for reading. Every accessor checks: a wrong kind or a missing field throws
// Error(kBadFile) that names the place, e.g. "config.json: 'rope_scaling.factor' is text, expected a number".
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;  // in file order; names are unique

  // `source` names the document in messages. Nesting is limited to 256 levels; a name given twice in one object is
  // an error, as is invalid UTF-8.
  static Json parse(std::string_view text, std::string_view source);
  static Json load(const std::filesystem::path& path);

  Json() = default;

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_int() const { return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_); }
  bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
  bool is_text() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  bool as_bool() const;
  int64_t as_int() const;  // also accepts 4.0
  double as_number() const;
  const std::string& as_text() const;
  const Array& as_array() const;
  const Object& as_object() const;

  // The member, or null when this object has none of that name.
  const Json* find(std::string_view name) const;
  // The member; throws when it is missing.
  const Json& at(std::string_view name) const;

  // The member converted to the default's type, or the default when missing or null.
  template <typename T>
  T get(std::string_view name, T fallback) const {
    const Json* member = find(name);
    if (!member || member->is_null()) return fallback;
    return member->to<T>();
  }
  std::string get(std::string_view name, const char* fallback) const { return get(name, std::string(fallback)); }

  template <typename T>
  T to() const {
    if constexpr (std::is_same_v<T, bool>) {
      return as_bool();
    } else if constexpr (std::is_integral_v<T>) {
      const int64_t value = as_int();
      if (!std::in_range<T>(value)) throw out_of_range(value);
      return static_cast<T>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(as_number());
    } else if constexpr (std::is_same_v<T, std::string>) {
      return as_text();
    } else {
      std::vector<typename T::value_type> items;
      for (const Json& item : as_array()) items.push_back(item.to<typename T::value_type>());
      return items;
    }
  }

  // Where this value stands, e.g. "config.json: 'layers[3].kind'".
  const std::string& place() const { return place_; }

 private:
  friend class JsonBuilder;
  Error wrong_kind(std::string_view expected) const;
  Error out_of_range(int64_t value) const;

  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, Array, Object> value_;
  std::string place_;
};

}  // namespace wick
