#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "grammar/schema/schema_graph.h"
#include "grammar/schema/schema_texts.h"

namespace wick::grammar {

// Terms that must hold together, taken apart as far as that needs no choice.
struct Conjunction {
  std::vector<Term> leaves;   // assertions other than types, in the order of the schema
  std::vector<Term> choices;  // still to be made
  std::vector<Term> held;     // sorted: all that were added, for finding what holds anyway
  uint8_t types = kAllTypes;
  bool has_types = false;  // they have been spoken about
  bool is_false = false;   // no value satisfies it
};

// All assertions of a conjunction, by what they are about.
struct MergedSchema {
  const Json* source = nullptr;  // of the first, for messages
  uint8_t types = kAllTypes;
  std::optional<std::vector<const Json*>> values;  // what all enum and const list
  std::vector<const Json*> excluded;               // scalars
  std::vector<const SchemaNode*> bounds, multiples, no_multiples;
  Count length, items_count, members_count;
  struct Text {
    const SchemaNode* node = nullptr;
    bool is_opposite = false;
  };
  std::vector<Text> texts;  // kTexts, kPattern, kFormat
  std::vector<const SchemaNode*> items, contains, members, some_members;
  std::vector<Term> names;  // propertyNames
  std::vector<std::string_view> required, forbidden;
  const SchemaNode* unique = nullptr;
};

// A value, or the name of a member.
struct Instance {
  const Json* value = nullptr;
  std::string_view name;
};

// Works on conjunctions. Throws what SchemaGraph and SchemaTexts throw.
class SchemaCases {
 public:
  SchemaCases(SchemaGraph& graph, SchemaTexts& texts) : graph_(graph), texts_(texts) {}

  Conjunction conjunction(std::span<const Term> terms);
  // One conjunction for each way to make the first choice; together they stand for the same values.
  std::vector<Conjunction> choose(const Conjunction& conjunction);
  // Needs no choice to be made.
  MergedSchema merge(const Conjunction& conjunction);

  // Whether the value satisfies the term.
  bool holds(Term term, const Instance& value);
  bool holds(const Conjunction& conjunction, const Instance& value);
  // True only when it is certain that no value satisfies all of it.
  bool is_empty(const Conjunction& conjunction, int depth = 0);
  // All values that satisfy it, when these are listed or null, true and false.
  std::optional<std::vector<const Json*>> finite_values(const Conjunction& conjunction, int depth = 0);

  // What item `index` must satisfy; past the last prefix, all are alike.
  static std::vector<Term> item_at(const MergedSchema& schema, size_t index);
  static size_t prefix_length(const MergedSchema& schema);
  // What the value of a member of this name must satisfy.
  std::vector<Term> member_at(const MergedSchema& schema, std::string_view name);

  SchemaGraph& graph() { return graph_; }
  SchemaTexts& texts() { return texts_; }

 private:
  void add(Conjunction& conjunction, Term term);
  void finish(Conjunction& conjunction);
  bool is_possible(const Conjunction& conjunction, Term term);
  Conjunction with(const Conjunction& conjunction, std::span<const Term> terms, size_t without_choice);
  // Whether enum or const list the value.
  bool lists(const SchemaNode& values, const Instance& value);
  // Whether the option holds of all values that satisfy the rest; false when that is not seen at once.
  bool holds_anyway(const Conjunction& conjunction, const MergedSchema& merged, Term option);
  void drop_choices_that_hold(Conjunction& conjunction);
  // Where a value fails the option, this holds as well; kTrueTerm when nothing short can be said.
  Term short_opposite(const Conjunction& conjunction, Term option);
  bool holds_leaf(Term term, const Instance& value);
  bool holds_members(const SchemaNode& node, const Json& object);
  bool is_empty_text(const MergedSchema& schema);
  bool is_empty_array(const MergedSchema& schema, int depth);
  bool is_empty_object(const MergedSchema& schema, int depth);

  SchemaGraph& graph_;
  SchemaTexts& texts_;
  std::unordered_map<const SchemaNode*, std::unordered_set<std::string_view>> listed_texts_;  // of long enums
  size_t work_ = 0;
};

}  // namespace wick::grammar
