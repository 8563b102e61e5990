#pragma once

#include <cstdint>
#include <string_view>

namespace wick::grammar {

enum class Keyword : uint8_t {
  kAnnotation,  // says nothing about what is valid; so does everything unknown
  kBeside,      // read together with another keyword: additionalProperties with properties, then with if
  kRef,
  kDynamicRef,
  kAllOf,
  kAnyOf,
  kOneOf,
  kNot,
  kIf,
  kType,
  kEnum,
  kConst,
  kMinimum,
  kMaximum,
  kExclusiveMinimum,
  kExclusiveMaximum,
  kMultipleOf,
  kMinLength,
  kMaxLength,
  kPattern,
  kFormat,
  kItems,  // and its relatives
  kContains,
  kMinItems,
  kMaxItems,
  kUniqueItems,
  kProperties,  // and its relatives
  kRequired,
  kPropertyNames,
  kMinProperties,
  kMaxProperties,
  kDependencies,
  kDependentRequired,
  kDependentSchemas,
  kUnevaluatedItems,
  kUnevaluatedProperties,
  kDraft3,  // asserts in draft 3 only
};

Keyword keyword_of(std::string_view name);

}  // namespace wick::grammar
