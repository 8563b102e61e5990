#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/rule_set.h"
#include "grammar/schema/json_pieces.h"
#include "grammar/schema/schema_cases.h"

namespace wick::grammar {

// What the compilers of lists and objects need for what these contain.
struct SchemaContext {
  SchemaCases& cases;
  RuleSet& rules;
  JsonPieces& pieces;
  MemberOrder order = MemberOrder::kSchema;
  std::function<ExprId(const std::vector<Term>&)> value;  // one that satisfies all of these
  std::function<ExprId(const Json&)> literal;
  std::map<std::pair<std::string_view, RuleId>, ExprId> members;  // by name and rule of the value
};

// Each throws Error(kInvalidArgument) that names the keyword which cannot be enforced.
ExprId compile_array(const MergedSchema& schema, const SchemaContext& context);
ExprId compile_object(const MergedSchema& schema, SchemaContext& context);

}  // namespace wick::grammar
