#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/api/fields.h"

namespace wick {

// Values that OpenAI's API spells in more than one way.

// "a" or ["a", "b"].
struct TextOrList {
  std::vector<std::string> texts;
};
template <>
struct FieldKind<TextOrList> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, TextOrList& out);
};

// {"50256": -100}: token ids as names.
struct LogitBias {
  std::vector<std::pair<int32_t, float>> entries;
};
template <>
struct FieldKind<LogitBias> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, LogitBias& out);
};

struct Visual;

// A part of what is said, where pictures are among them.
struct ContentPart {
  enum class Kind : uint8_t { kText, kImage, kVideo };
  Kind kind = Kind::kText;
  std::string value;                          // the text, or the URL
  std::shared_ptr<const Visual> visual = {};  // once it is decoded
};

// What is said: "text" or [{"type": "text", "text": "..."}], whose texts are joined; also {"type": "refusal", ...}.
// Beside texts there may be {"type": "image_url", "image_url": {"url": "..."}}, "input_image" and "video_url".
struct TextContent {
  std::string text;                     // all of it
  std::vector<ContentPart> parts = {};  // in order, where there are pictures; else empty
};
// One of the parts; also Anthropic's {"type": "image", "source": {...}}. Throws RequestError.
ContentPart read_content_part(const Json& part, const std::string& place);
// Leaves the text alone where there are no pictures among the parts.
void drop_plain_parts(TextContent& content);
template <>
struct FieldKind<TextContent> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, TextContent& out);
};

// true, false, 0 or 2: the version.
struct MirostatSwitch {
  bool on = false;
};
template <>
struct FieldKind<MirostatSwitch> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, MirostatSwitch& out);
};

// A list of objects that are passed on as they are, e.g. tools.
struct AnyObjects {
  Json list;
  bool empty() const { return !list.is_array() || list.as_array().empty(); }
};
template <>
struct FieldKind<AnyObjects> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, AnyObjects& out);
};

// ["text"] and nothing else.
struct TextModality {};
template <>
struct FieldKind<TextModality> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, TextModality& out);
};

}  // namespace wick
