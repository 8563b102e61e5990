#pragma once

#include <cstdint>
#include <string_view>

namespace wick::grammar {

enum class Keyword : uint8_t {
  kAnnotation,       // says nothing about what is valid
  kHandledTogether,  // properties, items and their relatives: see SchemaMerger::add
  kRef,
  kAllOf,
  kAnyOf,
  kOneOf,
  kNot,
  kType,
  kEnum,
  kConst,
  kMinimum,
  kExclusiveMinimum,
  kMaximum,
  kExclusiveMaximum,
  kMultipleOf,
  kMinLength,
  kMaxLength,
  kPattern,
  kFormat,
  kMinItems,
  kMaxItems,
  kUniqueItems,
  kRequired,
  kPropertyNames,
  kMinProperties,
  kMaxProperties,
  kUnsupported,  // and everything unknown: it might forbid something
};

Keyword keyword_of(std::string_view name);

}  // namespace wick::grammar
