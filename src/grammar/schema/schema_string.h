#pragma once

#include <functional>
#include <string_view>

#include "grammar/rule_set.h"
#include "grammar/schema/json_pieces.h"
#include "grammar/schema/schema_cases.h"

namespace wick::grammar {

// The strings a schema allows, in quotes. Where a pattern, a format or an excluded text has a say, characters are
// escaped only where they must be. Throws Error(kInvalidArgument) when patterns and lengths are too large together.
ExprId compile_string(const MergedSchema& schema, SchemaTexts& texts, RuleSet& rules, JsonPieces& pieces);

}  // namespace wick::grammar
