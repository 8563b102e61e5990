#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "grammar/schema/schema_reference.h"

namespace wick::grammar {

// The kinds of JSON values, as bits. A number is an integer or has a fraction.
enum TypeBits : uint8_t {
  kNullBit = 1,
  kBooleanBit = 2,
  kIntegerBit = 4,
  kFractionBit = 8,
  kNumberBits = kIntegerBit | kFractionBit,
  kStringBit = 16,
  kArrayBit = 32,
  kObjectBit = 64,
  kAllTypes = 127,
};

// What a value may be asked to satisfy: twice the number of a node, plus one for the opposite of it.
using Term = uint32_t;
inline constexpr Term kTrueTerm = 0, kFalseTerm = 1;
inline constexpr Term opposite(Term term) { return term ^ 1; }
inline constexpr bool is_opposite(Term term) { return term & 1; }

enum class NodeKind : uint8_t {
  kTrue,
  kAll,          // terms
  kAny,          // terms
  kOne,          // terms: exactly one holds
  kIf,           // three terms
  kReference,    // source: the reference
  kUnevaluated,  // terms: the schema without unevaluatedItems and unevaluatedProperties; rest: of the items;
                 // names: of the members, where there is one
  // Assertions. Those about one kind of value hold for all other kinds.
  kTypes,
  kValues,
  kBound,
  kMultiple,
  kTexts,  // the string is one of `texts`
  kPattern,
  kFormat,
  kLength,
  kItems,  // terms: of the first items; rest
  kItemCount,
  kContains,  // from min to max of the items from..to satisfy the term
  kUnique,
  kMembers,
  kRequired,  // all of `texts`
  kMemberCount,
  kNames,       // every member's name satisfies the term
  kSomeMember,  // some member's name satisfies the first term, and its value the second
};

struct Count {
  int64_t min = 0;
  std::optional<int64_t> max;
};

struct SchemaNode {
  NodeKind kind = NodeKind::kTrue;
  const Json* source = nullptr;  // what this is read from
  const Json* owner = nullptr;   // kReference: the schema around it
  std::vector<Term> terms;
  std::optional<Term> rest;  // kItems: of the items behind; kMembers: of members that neither names nor patterns match
  uint8_t types = 0;
  std::vector<const Json*> values;
  std::vector<std::string_view> texts;  // kPattern, kFormat: one
  std::vector<std::pair<std::string_view, Term>> names, patterns;
  Count count;
  int64_t from = 0;
  std::optional<int64_t> to;
  bool is_lower = false, is_exclusive = false, is_dynamic = false;
};

// A schema as a graph of terms, made as it is asked for. What says the same in the same words has the same term. Views
// and pointers point into the document. Every error is Error(kInvalidArgument) that names the place: of a bad value, a
// reference that leads nowhere or back to itself, an assertion that cannot be turned round.
class SchemaGraph {
 public:
  explicit SchemaGraph(const Json& root) : root_(root), references_(root) { add({.kind = NodeKind::kTrue}); }

  const Json& root() const { return root_; }
  Term term(const Json& schema);
  const SchemaNode& node(Term term) const { return nodes_[term / 2]; }
  const Json& source(Term term) const { return node(term).source ? *node(term).source : root_; }

  enum class Shape : uint8_t { kLeaf, kAll, kAny, kOne };
  struct Opened {
    Shape shape = Shape::kLeaf;
    std::vector<Term> terms;
  };
  // What a term consists of. Of the leaves, only kTypes, kValues of plain values, kMultiple, kTexts, kPattern, kFormat
  // and kRequired of one name come as opposites.
  Opened open(Term term);
  // Types that no value satisfying the term can be outside of.
  uint8_t types_of(Term term);

  Term all(std::vector<Term> terms);
  Term any(std::vector<Term> terms);
  Term types(uint8_t bits);
  Term required(std::string_view name);
  Term pattern(std::string_view text, const Json& source);
  Term texts(std::vector<std::string_view> texts);
  // The member has this value, if it is there.
  Term member(std::string_view name, Term value, const Json* source);

 private:
  std::string key_of(const SchemaNode& node);
  Term add(SchemaNode node);  // or an equal one
  Term count(NodeKind kind, Count count, const Json* source);
  Term build(const Json& schema);
  void add_keyword(const Json& schema, const std::string& keyword, const Json& value, std::vector<Term>& terms);
  void add_bound(const Json& schema, const std::string& keyword, const Json& value, std::vector<Term>& terms);
  void add_members(const Json& schema, const Json& value, std::vector<Term>& terms);
  void add_items(const Json& schema, const Json& value, std::vector<Term>& terms);
  void add_dependency(std::string_view name, Term then, std::vector<Term>& terms);
  std::vector<Term> list(const Json& schemas);
  Term required_names(const Json& names);
  Term equal(const Json& value);

  Term target(uint32_t reference);
  Term find_target(uint32_t reference);
  void check_loops(Term from, int references);
  Term expansion_of(Term term);  // an equal one, of an opposite without it
  Term opposite_of_members(const SchemaNode& node);
  Term opposite_of_items(const SchemaNode& node);

  // What may hold of a value where it satisfies a term, with the assertions that say which members and items have been
  // evaluated.
  struct Alternative {
    std::vector<Term> terms;
    std::vector<Term> evaluating;
  };
  std::vector<Alternative> alternatives(Term term);
  Term resolve_unevaluated(uint32_t node);

  enum class Mark : uint8_t { kNew, kOpen, kDone };
  const Json& root_;
  SchemaReferences references_;
  std::deque<SchemaNode> nodes_;
  std::vector<Mark> marks_;  // of check_loops
  std::unordered_map<const Json*, Term> by_schema_;
  std::unordered_map<std::string, Term> shared_;
  std::unordered_map<uint32_t, Term> targets_;  // of references and kUnevaluated
  std::unordered_map<Term, Term> expansions_;
  std::unordered_map<Term, uint8_t> types_of_;
};

uint8_t type_of(const Json& value);

// Whether two JSON values are equal, as JSON Schema means it: 1 and 1.0 are, the order of members does not count.
bool json_equal(const Json& a, const Json& b);

// The number, if it is whole and at most 9e18 in size.
std::optional<int64_t> small_integer(const Json& json);

}  // namespace wick::grammar
