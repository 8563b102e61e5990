#include "server/api/request_kinds.h"

#include <charconv>

#include "base/utf8.h"

namespace wick {
namespace {

OrderedJson text_or(OrderedJson other) { return {{"anyOf", {{{"type", "string"}}, std::move(other)}}}; }

}  // namespace

OrderedJson FieldKind<TextOrList>::schema(SchemaSet& set) {
  return text_or(FieldKind<std::vector<std::string>>::schema(set));
}

void FieldKind<TextOrList>::read(const Json& value, const std::string& place, const Limits& limits, TextOrList& out) {
  if (value.is_text()) {
    out.texts = {value.as_text()};
  } else if (value.is_array()) {
    FieldKind<std::vector<std::string>>::read(value, place, limits, out.texts);
  } else {
    throw wrong_kind(place, value, "text or a list of texts");
  }
}

OrderedJson FieldKind<LogitBias>::schema(SchemaSet&) {
  return {{"type", "object"}, {"additionalProperties", {{"type", "number"}, {"minimum", -100}, {"maximum", 100}}}};
}

void FieldKind<LogitBias>::read(const Json& value, const std::string& place, const Limits&, LogitBias& out) {
  if (!value.is_object()) throw wrong_kind(place, value, "an object");
  Limits limits;
  limits.low = -100;
  limits.high = 100;
  for (const auto& [name, bias] : value.as_object()) {
    int32_t token = -1;
    const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), token);
    if (problem != std::errc() || end != name.data() + name.size()) {
      throw RequestError(place, cat(place, " has the name ", in_quotes(name), ", expected the number of a token"));
    }
    float number = 0;
    FieldKind<float>::read(bias, cat(place, "[", token, "]"), limits, number);
    out.entries.emplace_back(token, number);
  }
}

OrderedJson FieldKind<TextContent>::schema(SchemaSet&) {
  const OrderedJson part = {
      {"type", "object"},
      {"properties", {{"type", {{"type", "string"}, {"enum", {"text"}}}}, {"text", {{"type", "string"}}}}},
      {"required", {"type", "text"}}};
  return text_or({{"type", "array"}, {"items", part}});
}

void FieldKind<TextContent>::read(const Json& value, const std::string& place, const Limits&, TextContent& out) {
  if (value.is_text()) {
    out.text = value.as_text();
    return;
  }
  if (!value.is_array()) throw wrong_kind(place, value, "text or a list of parts");
  size_t index = 0;
  for (const Json& part : value.as_array()) {
    const std::string at = cat(place, "[", index++, "]");
    std::string type, text;
    if (!part.is_object()) throw wrong_kind(at, part, "an object");
    if (!part.find("type")) throw RequestError(at + ".type", cat(at, ".type is missing"), "missing_required_parameter");
    FieldKind<std::string>::read(part.at("type"), at + ".type", {}, type);
    if (type == "refusal") {  // what an assistant said instead of an answer
      if (!part.find("refusal")) {
        throw RequestError(at + ".refusal", cat(at, ".refusal is missing"), "missing_required_parameter");
      }
      FieldKind<std::string>::read(part.at("refusal"), at + ".refusal", {}, text);
      out.text += text;
      continue;
    }
    // The Responses API has names of its own for the same.
    if (type != "text" && type != "input_text" && type != "output_text") {
      throw RequestError(at + ".type", cat(at, ".type is ", in_quotes(type), ", and models here read only text"),
                         "unsupported_value");
    }
    if (!part.find("text")) throw RequestError(at + ".text", cat(at, ".text is missing"), "missing_required_parameter");
    FieldKind<std::string>::read(part.at("text"), at + ".text", {}, text);
    out.text += text;
  }
}

OrderedJson FieldKind<MirostatSwitch>::schema(SchemaSet&) {
  return {{"anyOf", {{{"type", "boolean"}}, {{"type", "integer"}, {"enum", {0, 2}}}}}};
}

void FieldKind<MirostatSwitch>::read(const Json& value, const std::string& place, const Limits&, MirostatSwitch& out) {
  if (value.is_bool()) {
    out.on = value.as_bool();
    return;
  }
  const int64_t version = whole_number(value, place);
  if (version != 0 && version != 2) throw RequestError(place, cat(place, " is ", version, ", allowed are 0 and 2"));
  out.on = version == 2;
}

OrderedJson FieldKind<AnyObjects>::schema(SchemaSet&) { return {{"type", "array"}, {"items", {{"type", "object"}}}}; }

void FieldKind<AnyObjects>::read(const Json& value, const std::string& place, const Limits&, AnyObjects& out) {
  if (!value.is_array()) throw wrong_kind(place, value, "a list");
  for (size_t i = 0; i < value.as_array().size(); ++i) {
    const Json& item = value.as_array()[i];
    if (!item.is_object()) throw wrong_kind(cat(place, "[", i, "]"), item, "an object");
  }
  out.list = value;
}

OrderedJson FieldKind<TextModality>::schema(SchemaSet&) {
  return {{"type", "array"}, {"items", {{"type", "string"}, {"enum", {"text"}}}}};
}

void FieldKind<TextModality>::read(const Json& value, const std::string& place, const Limits&, TextModality&) {
  std::vector<std::string> names;
  FieldKind<std::vector<std::string>>::read(value, place, {}, names);
  for (const std::string& name : names) {
    if (name != "text") throw RequestError(place, cat(place, " has ", in_quotes(name), ", and answers here are text"));
  }
}

}  // namespace wick
