#pragma once

#include <string>
#include <vector>

#include "text/grammar/schema_merge.h"

namespace wick::grammar {

struct Member {
  std::string name;
  Conjunction value;
  bool is_required = false;
};

// The members an object may have, over all the schemas that speak about it.
struct MemberList {
  std::vector<Member> named;  // in order of first mention
  Conjunction others;         // what all members with other names must satisfy; allows_others is false: none
  bool allows_others = true;
  const Json* others_pattern = nullptr;  // that the other names match; holds its text
  std::string others_pattern_text;
};

// Throws Error(kInvalidArgument) for patternProperties that cannot be told apart from other members.
MemberList members_of(const MergedSchema& schema);

// What item `index` must satisfy; past the last prefix, all are alike.
Conjunction item_at(const MergedSchema& schema, size_t index);
size_t prefix_length(const MergedSchema& schema);

}  // namespace wick::grammar
