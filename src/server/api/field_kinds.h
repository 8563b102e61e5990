#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "server/api/request_error.h"

namespace wick {

using OrderedJson = nlohmann::ordered_json;

template <typename T>
class Fields;

// What a field's value may be, besides its type.
struct Limits {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  std::vector<std::string_view> words;  // of a text; empty: any
};

RequestError wrong_kind(const std::string& place, const Json& value, std::string_view expected);
// Throws RequestError "temperature is 3, allowed is 0 to 2".
void check_range(const std::string& place, double value, const Limits& limits);
int64_t whole_number(const Json& value, const std::string& place);
void check_word(const std::string& place, const std::string& value, const Limits& limits);
void add_limits(OrderedJson& schema, const Limits& limits);

// The named schemas of a document. A type that has Fields is described once and referred to.
class SchemaSet {
 public:
  template <typename T>
  OrderedJson reference() {
    const Fields<T>& fields = T::fields();
    if (!schemas_.contains(fields.name())) {
      schemas_[fields.name()] = nullptr;  // while it is made: it may hold itself
      schemas_[fields.name()] = fields.schema(*this);
    }
    return {{"$ref", cat("#/components/schemas/", fields.name())}};
  }
  const OrderedJson& schemas() const { return schemas_; }

 private:
  OrderedJson schemas_ = OrderedJson::object();
};

// How a type is read, written and described. A type that is none of those below has a FieldKind of its own.
template <typename V>
struct FieldKind;

template <typename V>
concept ReadableField = requires(V& out) {
  FieldKind<V>::read(Json(), std::string(), Limits(), out);
};
template <typename V>
concept WritableField = requires(const V& value) {
  FieldKind<V>::write(value);
};
template <typename T>
concept HasFields = requires {
  T::fields().name();
};

template <>
struct FieldKind<bool> {
  static OrderedJson schema(SchemaSet&) { return {{"type", "boolean"}}; }
  static void read(const Json& value, const std::string& place, const Limits&, bool& out) {
    if (!value.is_bool()) throw wrong_kind(place, value, "true or false");
    out = value.as_bool();
  }
  static OrderedJson write(bool value) { return value; }
};

template <std::integral V>
struct FieldKind<V> {
  static OrderedJson schema(SchemaSet&) { return {{"type", "integer"}}; }
  static void read(const Json& value, const std::string& place, const Limits& limits, V& out) {
    const int64_t number = whole_number(value, place);
    Limits own = limits;
    if (sizeof(V) < sizeof(int64_t)) {
      own.low = std::max(own.low, static_cast<double>(std::numeric_limits<V>::min()));
      own.high = std::min(own.high, static_cast<double>(std::numeric_limits<V>::max()));
    }
    check_range(place, static_cast<double>(number), own);
    out = static_cast<V>(number);
  }
  static OrderedJson write(V value) { return value; }
};

template <std::floating_point V>
struct FieldKind<V> {
  static OrderedJson schema(SchemaSet&) { return {{"type", "number"}}; }
  static void read(const Json& value, const std::string& place, const Limits& limits, V& out) {
    if (!value.is_number()) throw wrong_kind(place, value, "a number");
    check_range(place, value.as_number(), limits);
    out = static_cast<V>(value.as_number());
    if (!std::isfinite(out)) throw RequestError(place, cat(place, " is too large for a float"));
  }
  static OrderedJson write(V value) { return static_cast<double>(value); }
};

template <>
struct FieldKind<std::string> {
  static OrderedJson schema(SchemaSet&) { return {{"type", "string"}}; }
  static void read(const Json& value, const std::string& place, const Limits& limits, std::string& out) {
    if (!value.is_text()) throw wrong_kind(place, value, "text");
    check_word(place, value.as_text(), limits);
    out = value.as_text();
  }
  static OrderedJson write(const std::string& value) { return value; }
};

// An object that is passed on as it is.
template <>
struct FieldKind<Json> {
  static OrderedJson schema(SchemaSet&) { return {{"type", "object"}}; }
  static void read(const Json& value, const std::string& place, const Limits&, Json& out) {
    if (!value.is_object()) throw wrong_kind(place, value, "an object");
    out = value;
  }
};

// Written as it is.
template <>
struct FieldKind<OrderedJson> {
  static OrderedJson schema(SchemaSet&) { return OrderedJson::object(); }
  static OrderedJson write(const OrderedJson& value) { return value; }
};

template <typename V>
struct FieldKind<std::optional<V>> {
  static OrderedJson schema(SchemaSet& set) { return FieldKind<V>::schema(set); }
  static void read(const Json& value, const std::string& place, const Limits& limits,
                   std::optional<V>& out) requires ReadableField<V> {
    FieldKind<V>::read(value, place, limits, out.emplace());
  }
  static OrderedJson write(const std::optional<V>& value) requires WritableField<V> {
    return value ? FieldKind<V>::write(*value) : nullptr;
  }
};

template <typename V>
struct FieldKind<std::vector<V>> {
  static OrderedJson schema(SchemaSet& set) { return {{"type", "array"}, {"items", FieldKind<V>::schema(set)}}; }
  static void read(const Json& value, const std::string& place, const Limits& limits,
                   std::vector<V>& out) requires ReadableField<V> {
    if (!value.is_array()) throw wrong_kind(place, value, "a list");
    out.clear();
    for (const Json& item : value.as_array()) {
      V element{};
      FieldKind<V>::read(item, cat(place, "[", out.size(), "]"), limits, element);
      out.push_back(std::move(element));
    }
  }
  static OrderedJson write(const std::vector<V>& values) requires WritableField<V> {
    OrderedJson list = OrderedJson::array();
    for (const V& value : values) list.push_back(FieldKind<V>::write(value));
    return list;
  }
};

template <HasFields V>
struct FieldKind<V> {
  static OrderedJson schema(SchemaSet& set) { return set.reference<V>(); }
  static void read(const Json& value, const std::string& place, const Limits&, V& out) {
    V::fields().read(value, place, out);
  }
  static OrderedJson write(const V& value) { return V::fields().write(value); }
};

}  // namespace wick
