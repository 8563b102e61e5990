#include "text/grammar/schema_keywords.h"

#include <algorithm>
#include <utility>

namespace wick::grammar {
namespace {

constexpr std::string_view kAnnotations[] = {
    "$anchor",         "$comment",         "$defs",         "$id",       "$schema",      "$vocabulary",
    "contentEncoding", "contentMediaType", "contentSchema", "default",   "definitions",  "deprecated",
    "description",     "discriminator",    "example",       "examples",  "externalDocs", "id",
    "nullable",        "readOnly",         "title",         "writeOnly", "xml",
};

constexpr std::pair<std::string_view, Keyword> kKeywords[] = {
    {"$ref", Keyword::kRef},
    {"allOf", Keyword::kAllOf},
    {"anyOf", Keyword::kAnyOf},
    {"oneOf", Keyword::kOneOf},
    {"not", Keyword::kNot},
    {"type", Keyword::kType},
    {"enum", Keyword::kEnum},
    {"const", Keyword::kConst},
    {"minimum", Keyword::kMinimum},
    {"exclusiveMinimum", Keyword::kExclusiveMinimum},
    {"maximum", Keyword::kMaximum},
    {"exclusiveMaximum", Keyword::kExclusiveMaximum},
    {"multipleOf", Keyword::kMultipleOf},
    {"minLength", Keyword::kMinLength},
    {"maxLength", Keyword::kMaxLength},
    {"pattern", Keyword::kPattern},
    {"format", Keyword::kFormat},
    {"minItems", Keyword::kMinItems},
    {"maxItems", Keyword::kMaxItems},
    {"uniqueItems", Keyword::kUniqueItems},
    {"required", Keyword::kRequired},
    {"propertyNames", Keyword::kPropertyNames},
    {"minProperties", Keyword::kMinProperties},
    {"maxProperties", Keyword::kMaxProperties},
    {"properties", Keyword::kHandledTogether},
    {"patternProperties", Keyword::kHandledTogether},
    {"additionalProperties", Keyword::kHandledTogether},
    {"items", Keyword::kHandledTogether},
    {"prefixItems", Keyword::kHandledTogether},
    {"additionalItems", Keyword::kHandledTogether},
};

}  // namespace

Keyword keyword_of(std::string_view name) {
  if (name.starts_with("x-") ||
      std::find(std::begin(kAnnotations), std::end(kAnnotations), name) != std::end(kAnnotations)) {
    return Keyword::kAnnotation;
  }
  for (const auto& [known, keyword] : kKeywords) {
    if (known == name) return keyword;
  }
  return Keyword::kUnsupported;
}

}  // namespace wick::grammar
