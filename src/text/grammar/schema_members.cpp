#include "text/grammar/schema_members.h"

#include <algorithm>
#include <unordered_map>

namespace wick::grammar {
namespace {

// true says nothing, so that schemas with and without it are the same.
void require(Conjunction& conjunction, const Json& schema) {
  if (schema.is_bool() && schema.as_bool()) return;
  auto& schemas = conjunction.schemas;
  if (std::find(schemas.begin(), schemas.end(), &schema) == schemas.end()) schemas.push_back(&schema);
}

const Json::Object& object_at(const Json& json) {
  if (!json.is_object()) throw schema_error(json, "expected an object");
  return json.as_object();
}

// Patterns are supported where they are the only names there can be.
void use_pattern_properties(const MergedSchema& schema, MemberList& members) {
  const Json* patterns = nullptr;
  for (const ObjectKeywords& keywords : schema.objects) {
    if (!keywords.pattern_properties) continue;
    if (object_at(*keywords.pattern_properties).empty()) continue;
    if (patterns || schema.objects.size() > 1) {
      throw schema_error(*keywords.pattern_properties, "patternProperties cannot be combined with other schemas");
    }
    patterns = keywords.pattern_properties;
  }
  if (!patterns) return;
  const bool others_are_forbidden = schema.objects[0].additional && schema.objects[0].additional->is_bool() &&
                                    !schema.objects[0].additional->as_bool();
  if (patterns->as_object().size() > 1 || !others_are_forbidden || !members.named.empty()) {
    throw schema_error(*patterns,
                       "patternProperties is supported with one pattern, no properties and additionalProperties false");
  }
  const auto& [pattern, value] = patterns->as_object()[0];
  members.others = {};
  require(members.others, value);
  members.others_pattern = &value;
  members.others_pattern_text = pattern;
}

}  // namespace

MemberList members_of(const MergedSchema& schema) {
  MemberList members;
  std::unordered_map<std::string, size_t> index;
  const auto add_name = [&](const std::string& name) -> Member& {
    const auto [found, is_new] = index.try_emplace(name, members.named.size());
    if (is_new) members.named.push_back({name, {}, false});
    return members.named[found->second];
  };
  for (const ObjectKeywords& keywords : schema.objects) {
    if (!keywords.properties) continue;
    for (const auto& [name, value] : object_at(*keywords.properties)) add_name(name);
  }
  for (const Json* name : schema.required) add_name(name->as_text()).is_required = true;
  for (const ObjectKeywords& keywords : schema.objects) {
    if (keywords.additional) require(members.others, *keywords.additional);
    for (Member& member : members.named) {
      const Json* value = keywords.properties ? keywords.properties->find(member.name) : nullptr;
      if (!value) value = keywords.additional;
      if (value) require(member.value, *value);
    }
  }
  use_pattern_properties(schema, members);
  members.allows_others = std::none_of(members.others.schemas.begin(), members.others.schemas.end(),
                                       [](const Json* other) { return other->is_bool(); });
  return members;
}

size_t prefix_length(const MergedSchema& schema) {
  size_t length = 0;
  for (const ArrayKeywords& keywords : schema.arrays) {
    if (!keywords.prefix) continue;
    if (!keywords.prefix->is_array()) throw schema_error(*keywords.prefix, "expected a list of schemas");
    length = std::max(length, keywords.prefix->as_array().size());
  }
  return length;
}

Conjunction item_at(const MergedSchema& schema, size_t index) {
  Conjunction item;
  for (const ArrayKeywords& keywords : schema.arrays) {
    if (keywords.prefix && index < keywords.prefix->as_array().size()) {
      require(item, keywords.prefix->as_array()[index]);
    } else if (keywords.items) {
      require(item, *keywords.items);
    }
  }
  return item;
}

}  // namespace wick::grammar
