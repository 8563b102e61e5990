#pragma once

#include <cstdint>
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

// What is said: "text" or [{"type": "text", "text": "..."}], whose texts are joined; also {"type": "refusal", ...}.
struct TextContent {
  std::string text;
};
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
