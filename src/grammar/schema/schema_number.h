#pragma once

#include "grammar/rule_set.h"
#include "grammar/schema/json_pieces.h"
#include "grammar/schema/schema_cases.h"

namespace wick::grammar {

// The numbers a schema allows: whole ones only when its types say so. Limits rule out exponents, as do multipleOf and
// values that are excluded. Throws Error(kInvalidArgument) for a multipleOf with too many remainders.
ExprId compile_number(const MergedSchema& schema, RuleSet& rules, JsonPieces& pieces);

// Whether minimum, maximum, multipleOf or a format allows this number.
bool allows_number(const SchemaNode& node, const Json& number);

// Whether it is certain that the limits leave no number.
bool has_no_number(const MergedSchema& schema);

}  // namespace wick::grammar
