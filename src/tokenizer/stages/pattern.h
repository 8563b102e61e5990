#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "tokenizer/span.h"
#include "tokenizer/stages/regex.h"

namespace wick {

// Part of a text: a match of a pattern, or what lies between two.
struct Match {
  Span bytes;
  bool is_match = false;
};

// Cuts the whole of `text` into matches and gaps, in order. An empty match only cuts.
std::vector<Match> find_all(const Regex& regex, std::string_view text);

// {"Regex": "..."} or {"String": "..."}.
Regex read_pattern(const Json& json);

}  // namespace wick
