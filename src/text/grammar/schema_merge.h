#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/json.h"

namespace wick::grammar {

// The kinds of JSON values, as bits. A number is an integer or has a fraction.
enum TypeBits : uint8_t {
  kNullBit = 1,
  kBooleanBit = 2,
  kIntegerBit = 4,
  kFractionBit = 8,
  kStringBit = 16,
  kArrayBit = 32,
  kObjectBit = 64,
  kAllTypes = 127,
};

// Schemas that must hold together. A choice (anyOf, oneOf) of a schema that is listed as made is not made again: the
// option is one of the schemas.
struct Conjunction {
  enum class Choice : uint8_t { kAnyOf, kOneOf };
  using Made = std::pair<const Json*, Choice>;
  std::vector<const Json*> schemas;
  std::vector<Made> made;
  bool operator<(const Conjunction& other) const {
    return std::tie(schemas, made) < std::tie(other.schemas, other.made);
  }
};

struct Bound {
  const Json* value = nullptr;
  bool is_exclusive = false;
};

// The keywords of one schema that speak about members, or items, together.
struct ObjectKeywords {
  const Json* properties = nullptr;
  const Json* pattern_properties = nullptr;
  const Json* additional = nullptr;
};
struct ArrayKeywords {
  const Json* prefix = nullptr;
  const Json* items = nullptr;
};

// All keywords of a conjunction, references followed, except choices that are still to be made.
struct MergedSchema {
  std::string place;  // of the first schema, for messages
  uint8_t types = kAllTypes;
  std::optional<std::vector<const Json*>> values;  // enum, const: what all of them list
  std::vector<Bound> minimums, maximums;
  std::vector<const Json*> multiples;
  int64_t min_length = 0;
  std::optional<int64_t> max_length;
  std::vector<const Json*> patterns;
  std::vector<const Json*> formats;
  int64_t min_items = 0;
  std::optional<int64_t> max_items;
  std::vector<ArrayKeywords> arrays;
  std::vector<ObjectKeywords> objects;
  std::vector<const Json*> required;
  std::vector<const Json*> property_names;
  const Json* unique_items = nullptr;
  int64_t min_properties = 0;
  std::optional<int64_t> max_properties;

  struct OpenChoice {
    Conjunction::Made key;
    const Json* options = nullptr;
  };
  std::optional<OpenChoice> choice;  // the first that is not made yet
};

// Follows $ref and allOf. Throws Error(kInvalidArgument) naming the place of an unknown keyword, a bad value, a
// reference that leads nowhere or back to itself.
class SchemaMerger {
 public:
  explicit SchemaMerger(const Json& root) : root_(root) {}

  MergedSchema merge(const Conjunction& conjunction) const;
  // The conjunction with one option of its open choice added.
  Conjunction choose(const Conjunction& conjunction, const MergedSchema& merged, const Json& option) const;

 private:
  struct Visit;
  void add(const Json& schema, Visit& visit) const;
  void add_keyword(const Json& schema, const std::string& keyword, const Json& value, Visit& visit) const;
  const Json& resolve(const Json& reference) const;

  const Json& root_;
};

// Whether two JSON values are equal, as JSON Schema means it: 1 and 1.0 are, the order of members does not count.
bool json_equal(const Json& a, const Json& b);

// The number, if it is whole and at most 9e18 in size.
std::optional<int64_t> small_integer(const Json& json);

Error schema_error(const Json& at, std::string_view problem);

}  // namespace wick::grammar
