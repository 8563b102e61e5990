#pragma once

#include <optional>
#include <string>

#include "jinja/value.h"

namespace wick::jinja {

// Python's json.dumps.
struct JsonStyle {
  bool ensure_ascii = false;
  std::optional<std::string> indent;  // of one level; empty: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool sort_keys = false;
};

// Throws for what JSON cannot hold, e.g. an undefined.
std::string json_text(const Value& value, const JsonStyle& style = {});

}  // namespace wick::jinja
