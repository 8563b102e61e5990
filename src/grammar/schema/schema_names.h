#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "grammar/schema/schema_context.h"

namespace wick::grammar {

// The names of members that are not among the named ones, with what their values must satisfy.
class OtherNames {
 public:
  // `named` must outlive this.
  OtherNames(const MergedSchema& schema, const std::vector<std::string_view>& named, const SchemaContext& context);

  // A member with such a name. Its name also satisfies all of `names`, its value all of `values`.
  ExprId member(const std::vector<Term>& names, const std::vector<Term>& values);

 private:
  ExprId unlike_named();
  ExprId by_pattern(std::vector<Term> names, const std::vector<Term>& values);

  const MergedSchema& schema_;
  const std::vector<std::string_view>& named_;
  const SchemaContext& context_;
  std::vector<std::string_view> patterns_;  // that tell members apart
  std::vector<Term> pattern_terms_;
};

}  // namespace wick::grammar
