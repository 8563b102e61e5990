#pragma once

#include <functional>
#include <utility>

#include "server/api/field_kinds.h"

namespace wick {

// The description of a JSON body that is held in a T: reading it, the sentence for each mistake, writing it and its
// schema in /openapi.json all come from here.
//
//   static const auto fields = Fields<Greeting>("Greeting", BodyUse::kRequest)
//                                  .add("name", &Greeting::name, "Who is greeted.").required()
//                                  .add("volume", &Greeting::volume, "How loud.").range(0, 11)
//                                  .refuse("song", "Wick does not sing");
//
// Fields that are not described are ignored, and null means that a field is not there.
enum class BodyUse : uint8_t { kRequest, kResponse };

template <typename T>
class Fields {
 public:
  Fields(std::string name, BodyUse use) : name_(std::move(name)), use_(use) {}

  const std::string& name() const { return name_; }

  template <typename V, typename Owner>
  requires std::derived_from<T, Owner> Fields& add(std::string name, V Owner::*member, std::string doc) {
    Field field{.name = std::move(name), .doc = std::move(doc)};
    field.schema = [](SchemaSet& set) { return FieldKind<V>::schema(set); };
    if constexpr (ReadableField<V>) {
      field.read = [member](const Json& value, const std::string& place, const Limits& limits, T& out) {
        FieldKind<V>::read(value, place, limits, out.*member);
      };
    }
    if constexpr (WritableField<V>) {
      field.write = [member](const T& from) { return FieldKind<V>::write(from.*member); };
    }
    field.is_optional = requires(const V& value) { value.has_value(); };
    if constexpr (std::is_arithmetic_v<V> || std::is_same_v<V, std::string>) {
      field.usual = FieldKind<V>::write(T().*member);
    }
    fields_.push_back(std::move(field));
    return *this;
  }
  // All the fields of a base of T.
  template <typename Base>
  requires std::derived_from<T, Base> Fields& add_all(const Fields<Base>& base) {
    for (const auto& from : base.fields_) {
      Field field{from.name,  from.doc,         from.refusal,     from.limits,
                  from.usual, from.is_required, from.is_optional, from.is_nullable};
      field.schema = from.schema;
      if (from.read)
        field.read = [read = from.read](const Json& v, const std::string& p, const Limits& l, T& out) {
          read(v, p, l, out);
        };
      if (from.write) field.write = [write = from.write](const T& value) { return write(value); };
      fields_.push_back(std::move(field));
    }
    return *this;
  }
  // A field that would change the answer in a way Wick cannot: there, it is an error with this reason.
  Fields& refuse(std::string name, std::string reason) {
    fields_.push_back({.name = std::move(name), .refusal = std::move(reason)});
    return *this;
  }

  // These are about the field added last.
  Fields& required() { return last().is_required = true, *this; }
  Fields& range(double low, double high = std::numeric_limits<double>::infinity()) {
    last().limits.low = low;
    last().limits.high = high;
    return *this;
  }
  Fields& words(std::vector<std::string_view> allowed) { return last().limits.words = std::move(allowed), *this; }
  // Written as null when it is empty, instead of being left out.
  Fields& nullable() { return last().is_nullable = true, *this; }

  // Throws RequestError naming the field at fault.
  void read(const Json& json, const std::string& place, T& out) const {
    if (!json.is_object()) throw wrong_kind(place.empty() ? "the body" : place, json, "an object");
    for (const Field& field : fields_) {
      const std::string at = place.empty() ? field.name : cat(place, ".", field.name);
      const Json* value = json.find(field.name);
      if (!value || value->is_null()) {
        if (field.is_required) throw RequestError(at, cat(at, " is missing"), "missing_required_parameter");
      } else if (!field.refusal.empty()) {
        throw RequestError(at, cat(at, " is not supported: ", field.refusal), "unsupported_parameter");
      } else {
        field.read(*value, at, field.limits, out);
      }
    }
  }
  T read(const Json& json) const {
    T out;
    read(json, {}, out);
    return out;
  }

  bool has(std::string_view name) const {
    return std::any_of(fields_.begin(), fields_.end(), [&](const Field& field) { return field.name == name; });
  }

  OrderedJson write(const T& value) const {
    OrderedJson object = OrderedJson::object();
    for (const Field& field : fields_) {
      OrderedJson written = field.write(value);
      if (written.is_null() && !field.is_nullable) continue;
      object[field.name] = std::move(written);
    }
    return object;
  }

  OrderedJson schema(SchemaSet& set) const {
    OrderedJson properties = OrderedJson::object(), required = OrderedJson::array();
    for (const Field& field : fields_) {
      if (!field.refusal.empty()) continue;
      OrderedJson schema = field.schema(set);
      add_limits(schema, field.limits);
      if (field.is_nullable) schema = {{"anyOf", {std::move(schema), {{"type", "null"}}}}};
      if (!field.doc.empty()) schema["description"] = field.doc;
      const bool is_response = use_ == BodyUse::kResponse;
      if (!is_response && !field.is_required && !field.usual.is_null() && field.usual != "") {
        schema["default"] = field.usual;
      }
      if (field.is_required || (is_response && (!field.is_optional || field.is_nullable))) {
        required.push_back(field.name);
      }
      properties[field.name] = std::move(schema);
    }
    OrderedJson schema = {{"type", "object"}, {"properties", std::move(properties)}};
    if (!required.empty()) schema["required"] = std::move(required);
    return schema;
  }

 private:
  template <typename Other>
  friend class Fields;
  struct Field {
    std::string name, doc;
    std::string refusal;  // why it is not supported; empty: it is
    Limits limits;
    OrderedJson usual;  // when it is left out; null: nothing in particular
    bool is_required = false, is_optional = false, is_nullable = false;
    std::function<OrderedJson(SchemaSet&)> schema;
    std::function<void(const Json&, const std::string& place, const Limits&, T&)> read;
    std::function<OrderedJson(const T&)> write;
  };
  Field& last() { return fields_.back(); }

  std::string name_;
  BodyUse use_;
  std::vector<Field> fields_;
};

}  // namespace wick
