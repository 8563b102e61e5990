#pragma once

#include "text/grammar/json_pieces.h"
#include "text/grammar/rule_set.h"
#include "text/grammar/schema_merge.h"

namespace wick::grammar {

// The numbers a schema allows: whole ones only when its types say so. Limits rule out exponents. Throws
// Error(kInvalidArgument) for a multipleOf that cannot be translated: supported are powers of ten up to 1, and whole
// numbers up to 100 or with few multiples between the limits.
ExprId compile_number(const MergedSchema& schema, RuleSet& rules, JsonPieces& pieces);

// Whether the schema's number keywords allow this number.
bool allows_number(const MergedSchema& schema, const Json& number);

}  // namespace wick::grammar
