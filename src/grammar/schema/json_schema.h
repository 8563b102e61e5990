#pragma once

#include "base/json.h"
#include "grammar/grammar.h"
#include "grammar/rule_set.h"

namespace wick::grammar {

// Translates a JSON Schema into rules and returns the one for the whole document. Throws Error(kInvalidArgument)
// naming the place of what cannot be translated.
RuleId compile_json_schema(const Json& schema, JsonLayout layout, MemberOrder order, RuleSet& rules);

}  // namespace wick::grammar
