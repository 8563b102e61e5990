#pragma once

#include <string>

#include "text/grammar/json_pieces.h"
#include "text/grammar/rule_set.h"
#include "text/grammar/schema_merge.h"

namespace wick::grammar {

// The strings a schema allows, as JSON in quotes. Throws Error(kInvalidArgument) for a pattern or format that cannot be
// translated.
ExprId compile_string(const MergedSchema& schema, RuleSet& rules, JsonPieces& pieces);

// Strings in which a pattern is found, as JSON in quotes. `place` is where it stands.
ExprId compile_pattern(const std::string& pattern, const std::string& place, RuleSet& rules, JsonPieces& pieces);

// Whether the schema's string keywords allow this text.
bool allows_string(const MergedSchema& schema, const std::string& text);

}  // namespace wick::grammar
