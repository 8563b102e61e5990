#include "grammar/schema/schema_keywords.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace wick::grammar {
namespace {

constexpr std::pair<std::string_view, Keyword> kKeywords[] = {
    {"$dynamicRef", Keyword::kDynamicRef},
    {"$recursiveRef", Keyword::kDynamicRef},
    {"$ref", Keyword::kRef},
    {"additionalItems", Keyword::kBeside},
    {"additionalProperties", Keyword::kProperties},
    {"allOf", Keyword::kAllOf},
    {"anyOf", Keyword::kAnyOf},
    {"const", Keyword::kConst},
    {"contains", Keyword::kContains},
    {"dependencies", Keyword::kDependencies},
    {"dependentRequired", Keyword::kDependentRequired},
    {"dependentSchemas", Keyword::kDependentSchemas},
    {"disallow", Keyword::kDraft3},
    {"divisibleBy", Keyword::kDraft3},
    {"else", Keyword::kBeside},
    {"enum", Keyword::kEnum},
    {"exclusiveMaximum", Keyword::kExclusiveMaximum},
    {"exclusiveMinimum", Keyword::kExclusiveMinimum},
    {"extends", Keyword::kDraft3},
    {"format", Keyword::kFormat},
    {"if", Keyword::kIf},
    {"items", Keyword::kItems},
    {"maxContains", Keyword::kBeside},
    {"maxItems", Keyword::kMaxItems},
    {"maxLength", Keyword::kMaxLength},
    {"maxProperties", Keyword::kMaxProperties},
    {"maximum", Keyword::kMaximum},
    {"minContains", Keyword::kBeside},
    {"minItems", Keyword::kMinItems},
    {"minLength", Keyword::kMinLength},
    {"minProperties", Keyword::kMinProperties},
    {"minimum", Keyword::kMinimum},
    {"multipleOf", Keyword::kMultipleOf},
    {"not", Keyword::kNot},
    {"oneOf", Keyword::kOneOf},
    {"pattern", Keyword::kPattern},
    {"patternProperties", Keyword::kProperties},
    {"prefixItems", Keyword::kItems},
    {"properties", Keyword::kProperties},
    {"propertyNames", Keyword::kPropertyNames},
    {"required", Keyword::kRequired},
    {"then", Keyword::kBeside},
    {"type", Keyword::kType},
    {"unevaluatedItems", Keyword::kUnevaluatedItems},
    {"unevaluatedProperties", Keyword::kUnevaluatedProperties},
    {"uniqueItems", Keyword::kUniqueItems},
};
static_assert(std::is_sorted(std::begin(kKeywords), std::end(kKeywords),
                             [](const auto& a, const auto& b) { return a.first < b.first; }));

}  // namespace

Keyword keyword_of(std::string_view name) {
  const auto found = std::lower_bound(std::begin(kKeywords), std::end(kKeywords), name,
                                      [](const auto& entry, std::string_view wanted) { return entry.first < wanted; });
  return found != std::end(kKeywords) && found->first == name ? found->second : Keyword::kAnnotation;
}

}  // namespace wick::grammar
