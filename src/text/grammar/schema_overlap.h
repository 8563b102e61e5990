#pragma once

#include "text/grammar/schema_merge.h"

namespace wick::grammar {

// Whether the schema allows this value, judged by everything but choices. Throws Error(kInvalidArgument) when that
// would need more than is supported: a list or object that other keywords say something about.
bool allows_value(const MergedSchema& schema, const Json& value);

// True only if it is certain that no value satisfies both: by type, listed values, limits, or a member that tells.
bool are_disjoint(const SchemaMerger& merger, const Conjunction& a, const Conjunction& b, int depth = 0);

}  // namespace wick::grammar
