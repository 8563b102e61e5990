#pragma once

#include <optional>
#include <string>

#include "server/api/chat/conversation_request.h"

namespace wick {

// Values as Ollama's API spells them.

// "json", a JSON schema, or "" for any text.
struct OllamaFormat {
  OutputFormat format;
};
template <>
struct FieldKind<OllamaFormat> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, OllamaFormat& out);
};

// true, false, or how much: "low", "medium", "high".
struct OllamaThink {
  bool on = false;
  std::optional<std::string> effort;
};
template <>
struct FieldKind<OllamaThink> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, OllamaThink& out);
};

// "1h30m", "300ms" as Go writes them, in seconds; empty: it is none.
std::optional<double> duration_seconds(std::string_view text);

// Seconds, or "5m": how long a model stays loaded when it is not used; below 0: as long as there is memory.
struct OllamaKeepAlive {
  double seconds = 0;
};
template <>
struct FieldKind<OllamaKeepAlive> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, OllamaKeepAlive& out);
};

// Pictures in base64.
struct OllamaImages {
  std::vector<std::string> list;
};
template <>
struct FieldKind<OllamaImages> {
  static OrderedJson schema(SchemaSet& set);
  static void read(const Json& value, const std::string& place, const Limits& limits, OllamaImages& out);
};

}  // namespace wick
