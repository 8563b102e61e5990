#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "grammar/rule_set.h"

namespace wick::grammar {

// Parses the regular expression of a JSON Schema `pattern` (ECMA-262) into an expression over whole characters, without
// calls and bytes. `place` begins the message of errors, which are Error(kInvalidArgument). Not supported are back
// references and \p.
ExprId parse_regex(std::string_view pattern, std::string place, RuleSet& out);

// An expression without assertions for every text in which the pattern is found: anything may stand before and behind
// where no anchor forbids it. Empty when anchors stand elsewhere than at the ends, or for other assertions.
std::optional<ExprId> without_assertions(ExprId pattern, RuleSet& rules);

// Any text, that text, any text.
ExprId found_anywhere(ExprId pattern, RuleSet& rules);

// \w
const CodepointSet& word_chars();

}  // namespace wick::grammar
