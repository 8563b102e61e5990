#include "server/api/request_kinds.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"

namespace wick {
namespace {

OrderedJson text_or(OrderedJson other) { return {{"anyOf", {{{"type", "string"}}, std::move(other)}}}; }

std::string read_text(const Json& part, std::string_view name, const std::string& at) {
  const std::string place = cat(at, ".", name);
  const Json* found = part.find(name);
  if (!found) throw RequestError(place, cat(place, " is missing"), "missing_required_parameter");
  std::string text;
  FieldKind<std::string>::read(*found, place, {}, text);
  return text;
}

// {"image_url": {"url": "..."}}; in the Responses API {"image_url": "..."}.
std::string read_url(const Json& part, std::string_view name, const std::string& at) {
  const Json* found = part.find(name);
  return found && found->is_object() ? read_text(*found, "url", cat(at, ".", name)) : read_text(part, name, at);
}

// Anthropic's {"source": {"type": "base64", "media_type": "image/png", "data": "..."}}, as a URL.
std::string read_source(const Json& part, const std::string& at) {
  const Json* source = part.find("source");
  if (!source || !source->is_object()) throw RequestError(at + ".source", cat(at, ".source is missing or no object"));
  const std::string type = read_text(*source, "type", at + ".source");
  if (type == "url") return read_text(*source, "url", at + ".source");
  if (type != "base64") {
    throw RequestError(at + ".source.type", cat(at, ".source.type is ", in_quotes(type), ", allowed is base64"),
                       "unsupported_value");
  }
  return cat("data:", read_text(*source, "media_type", at + ".source"), ";base64,",
             read_text(*source, "data", at + ".source"));
}

}  // namespace

ContentPart read_content_part(const Json& part, const std::string& at) {
  using Kind = ContentPart::Kind;
  if (!part.is_object()) throw wrong_kind(at, part, "an object");
  const std::string type = read_text(part, "type", at);
  if (type == "refusal") return {Kind::kText, read_text(part, "refusal", at)};  // instead of an answer
  // The Responses API has names of its own for the same.
  if (type == "text" || type == "input_text" || type == "output_text")
    return {Kind::kText, read_text(part, "text", at)};
  if (type == "image_url" || type == "input_image") return {Kind::kImage, read_url(part, "image_url", at)};
  if (type == "video_url") return {Kind::kVideo, read_url(part, "video_url", at)};
  if (type == "image") return {Kind::kImage, read_source(part, at)};
  throw RequestError(at + ".type", cat(at, ".type is ", in_quotes(type), ", and models here read text and pictures"),
                     "unsupported_value");
}

void drop_plain_parts(TextContent& content) {
  const bool shows = std::any_of(content.parts.begin(), content.parts.end(),
                                 [](const ContentPart& part) { return part.kind != ContentPart::Kind::kText; });
  if (!shows) content.parts.clear();
}

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
  const OrderedJson text = {
      {"type", "object"},
      {"properties", {{"type", {{"type", "string"}, {"enum", {"text"}}}}, {"text", {{"type", "string"}}}}},
      {"required", {"type", "text"}}};
  const OrderedJson url = {{"type", "object"}, {"properties", {{"url", {{"type", "string"}}}}}, {"required", {"url"}}};
  const OrderedJson image = {
      {"type", "object"},
      {"properties", {{"type", {{"type", "string"}, {"enum", {"image_url"}}}}, {"image_url", url}}},
      {"required", {"type", "image_url"}}};
  return text_or({{"type", "array"}, {"items", {{"anyOf", {text, image}}}}});
}

void FieldKind<TextContent>::read(const Json& value, const std::string& place, const Limits&, TextContent& out) {
  if (value.is_text()) {
    out.text = value.as_text();
    return;
  }
  if (!value.is_array()) throw wrong_kind(place, value, "text or a list of parts");
  size_t index = 0;
  for (const Json& part : value.as_array()) {
    out.parts.push_back(read_content_part(part, cat(place, "[", index++, "]")));
    if (out.parts.back().kind == ContentPart::Kind::kText) out.text += out.parts.back().value;
  }
  drop_plain_parts(out);
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
