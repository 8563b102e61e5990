#include "text/grammar/schema_overlap.h"

#include <algorithm>

#include "text/grammar/decimal.h"
#include "text/grammar/schema_members.h"
#include "text/grammar/schema_number.h"
#include "text/grammar/schema_string.h"

namespace wick::grammar {
namespace {

constexpr int kMaxDepth = 4;  // of members looked into

uint8_t type_of(const Json& value) {
  if (value.is_null()) return kNullBit;
  if (value.is_bool()) return kBooleanBit;
  if (value.is_number()) return decimal_of(value).is_whole() ? kIntegerBit : kFractionBit;
  if (value.is_text()) return kStringBit;
  return value.is_array() ? kArrayBit : kObjectBit;
}

// All values of `a` are refused by `b`.
bool values_are_refused(const MergedSchema& a, const MergedSchema& b) {
  return a.values && std::none_of(a.values->begin(), a.values->end(), [&](const Json* value) {
           if (!(a.types & b.types & type_of(*value))) return false;
           if (b.values) {
             return std::any_of(b.values->begin(), b.values->end(),
                                [&](const Json* other) { return json_equal(*value, *other); });
           }
           if (value->is_array() || value->is_object()) return true;  // not looked into
           return allows_value(b, *value);
         });
}

bool is_above(const MergedSchema& a, const MergedSchema& b) {
  for (const Bound& low : a.minimums) {
    for (const Bound& high : b.maximums) {
      const int order = compare(decimal_of(*low.value), decimal_of(*high.value));
      if (order > 0 || (order == 0 && (low.is_exclusive || high.is_exclusive))) return true;
    }
  }
  return false;
}

// `a` requires a member that `b` forbids, or whose values differ.
bool member_tells(const SchemaMerger& merger, const MergedSchema& a, const MergedSchema& b, int depth) {
  const MemberList of_a = members_of(a), of_b = members_of(b);
  return std::any_of(of_a.named.begin(), of_a.named.end(), [&](const Member& member) {
    if (!member.is_required) return false;
    const auto same = std::find_if(of_b.named.begin(), of_b.named.end(),
                                   [&](const Member& other) { return other.name == member.name; });
    if (same == of_b.named.end()) return !of_b.allows_others && !of_b.others_pattern;
    return are_disjoint(merger, member.value, same->value, depth + 1);
  });
}

}  // namespace

bool allows_value(const MergedSchema& schema, const Json& value) {
  if (!(schema.types & type_of(value))) return false;
  if (value.is_number()) return allows_number(schema, value);
  if (value.is_text()) return allows_string(schema, value.as_text());
  const bool has_array_keywords =
      !schema.arrays.empty() || schema.min_items > 0 || schema.max_items || schema.unique_items;
  const bool has_object_keywords = !schema.objects.empty() || !schema.required.empty() ||
                                   !schema.property_names.empty() || schema.min_properties > 0 || schema.max_properties;
  if ((value.is_array() && has_array_keywords) || (value.is_object() && has_object_keywords)) {
    throw schema_error(value, "a listed list or object cannot be combined with other keywords about its contents");
  }
  return true;
}

bool are_disjoint(const SchemaMerger& merger, const Conjunction& a, const Conjunction& b, int depth) {
  if (depth > kMaxDepth) return false;
  const MergedSchema left = merger.merge(a), right = merger.merge(b);
  const uint8_t common = left.types & right.types;
  if (common == 0) return true;
  if (values_are_refused(left, right) || values_are_refused(right, left)) return true;
  constexpr uint8_t kNumberBits = kIntegerBit | kFractionBit;
  if ((common & ~kNumberBits) == 0) return is_above(left, right) || is_above(right, left);
  if (common == kObjectBit) return member_tells(merger, left, right, depth) || member_tells(merger, right, left, depth);
  return false;
}

}  // namespace wick::grammar
