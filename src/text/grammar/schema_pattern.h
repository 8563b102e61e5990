#pragma once

#include <string>
#include <string_view>

#include "text/grammar/rule_set.h"

namespace wick::grammar {

// Parses the regular expression of a JSON Schema `pattern` (ECMA-262) into an expression over whole characters that
// matches every text in which the pattern is found: without an anchor, anything may stand before and behind. The
// expression holds no calls and no bytes. `place` begins the message of errors, which are Error(kInvalidArgument).
// Not supported: look-around, back references, \b, \p, named groups, and anchors other than at the ends.
ExprId parse_regex(std::string_view pattern, std::string place, RuleSet& out);

}  // namespace wick::grammar
