#pragma once

#include <string_view>

#include "grammar/rule_set.h"

namespace wick::grammar {

// Parses GBNF into rules and returns the one called `root`. Throws Error(kInvalidArgument) with line and column.
RuleId parse_gbnf(std::string_view text, RuleSet& rules);

}  // namespace wick::grammar
