#include "grammar/schema/schema_cases.h"

#include <algorithm>

#include "base/text.h"
#include "grammar/schema/schema_number.h"

namespace wick::grammar {
namespace {

constexpr int kMaxLook = 3;             // how far what a choice leaves is looked into
constexpr size_t kMaxWork = 2'000'000;  // terms looked at in conjunctions: see SchemaCases::add

template <typename T>
bool contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

void narrow(Count& count, const Count& by) {
  count.min = std::max(count.min, by.min);
  if (by.max) count.max = count.max ? std::min(*count.max, *by.max) : *by.max;
}

}  // namespace

void SchemaCases::add(Conjunction& conjunction, Term term) {
  if (conjunction.is_false) return;
  if (++work_ > kMaxWork) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(graph_.root().place(), ": the schema's choices have too many combinations"));
  }
  const auto place = std::lower_bound(conjunction.held.begin(), conjunction.held.end(), term);
  if (place != conjunction.held.end() && *place == term) return;
  if (std::binary_search(conjunction.held.begin(), conjunction.held.end(), opposite(term))) {
    conjunction.is_false = true;
    return;
  }
  conjunction.held.insert(place, term);
  const SchemaNode& node = graph_.node(term);
  if (node.kind == NodeKind::kTypes) {
    conjunction.types &= graph_.types_of(term);
    conjunction.has_types = true;
    conjunction.is_false |= conjunction.types == 0;
    return;
  }
  const SchemaGraph::Opened opened = graph_.open(term);
  switch (opened.shape) {
    case SchemaGraph::Shape::kLeaf:
      conjunction.leaves.push_back(term);
      if (is_opposite(term) && node.kind != NodeKind::kValues) {
        conjunction.types &= graph_.types_of(term);
        conjunction.has_types = true;
      }
      conjunction.is_false |= conjunction.types == 0;
      return;
    case SchemaGraph::Shape::kAll:
      for (const Term part : opened.terms) add(conjunction, part);
      return;
    case SchemaGraph::Shape::kAny:
    case SchemaGraph::Shape::kOne:
      if (opened.terms.empty()) conjunction.is_false = true;
      conjunction.choices.push_back(term);
      return;
  }
}

// By types, and by what is known to hold or not to.
bool SchemaCases::is_possible(const Conjunction& conjunction, Term term) {
  return (graph_.types_of(term) & conjunction.types) != 0 &&
         !std::binary_search(conjunction.held.begin(), conjunction.held.end(), opposite(term));
}

// Leaves out what says nothing about the types that are left, and makes choices that leave one option.
void SchemaCases::finish(Conjunction& conjunction) {
  bool is_changed = true;
  while (is_changed && !conjunction.is_false) {
    is_changed = false;
    for (size_t i = 0; i < conjunction.choices.size() && !is_changed && !conjunction.is_false; ++i) {
      const SchemaGraph::Opened opened = graph_.open(conjunction.choices[i]);
      const bool is_any = opened.shape == SchemaGraph::Shape::kAny;
      bool is_held = false;
      std::vector<Term> possible;
      for (const Term option : opened.terms) {
        if (is_possible(conjunction, option)) possible.push_back(option);
        is_held |= is_any && std::binary_search(conjunction.held.begin(), conjunction.held.end(), option);
        if (is_any && !is_opposite(option) && graph_.node(option).kind == NodeKind::kTypes) {
          is_held |= (conjunction.types & ~graph_.types_of(option)) == 0;
        }
      }
      if (!is_held && possible.size() > 1) continue;
      conjunction.choices.erase(conjunction.choices.begin() + static_cast<std::ptrdiff_t>(i));
      is_changed = true;
      if (is_held) continue;
      if (possible.empty()) {
        conjunction.is_false = true;
      } else {
        add(conjunction, possible[0]);
      }
    }
  }
  if (conjunction.is_false) {
    conjunction = {};
    conjunction.is_false = true;
    return;
  }
  std::erase_if(conjunction.leaves, [&](Term leaf) {
    switch (graph_.node(leaf).kind) {
      case NodeKind::kBound:
      case NodeKind::kMultiple: return !(conjunction.types & kNumberBits);
      case NodeKind::kTexts:
      case NodeKind::kPattern:
      case NodeKind::kLength: return !(conjunction.types & kStringBit);
      case NodeKind::kFormat: return !(conjunction.types & (kStringBit | kNumberBits));
      case NodeKind::kItems:
      case NodeKind::kItemCount:
      case NodeKind::kContains:
      case NodeKind::kUnique: return !(conjunction.types & kArrayBit);
      case NodeKind::kMembers:
      case NodeKind::kRequired:
      case NodeKind::kMemberCount:
      case NodeKind::kNames:
      case NodeKind::kSomeMember: return !(conjunction.types & kObjectBit);
      default: return false;
    }
  });
}

Conjunction SchemaCases::conjunction(std::span<const Term> terms) {
  Conjunction result;
  for (const Term term : terms) add(result, term);
  finish(result);
  return result;
}

Conjunction SchemaCases::with(const Conjunction& conjunction, std::span<const Term> terms, size_t without_choice) {
  Conjunction result = conjunction;
  result.choices.erase(result.choices.begin() + static_cast<std::ptrdiff_t>(without_choice));
  for (const Term term : terms) add(result, term);
  finish(result);
  return result;
}

bool SchemaCases::holds_anyway(const Conjunction& conjunction, const MergedSchema& merged, Term option) {
  if (std::binary_search(conjunction.held.begin(), conjunction.held.end(), option)) return true;
  const SchemaNode& node = graph_.node(option);
  if (node.kind == NodeKind::kAll && !is_opposite(option)) {
    return std::all_of(node.terms.begin(), node.terms.end(),
                       [&](Term part) { return holds_anyway(conjunction, merged, part); });
  }
  if (node.kind == NodeKind::kTypes) return (conjunction.types & ~graph_.types_of(option)) == 0;
  if (is_opposite(option)) return false;
  if (node.kind == NodeKind::kRequired) {
    return std::all_of(node.texts.begin(), node.texts.end(),
                       [&](std::string_view name) { return contains(merged.required, name); });
  }
  const bool is_member =
      node.kind == NodeKind::kMembers && node.names.size() == 1 && node.patterns.empty() && !node.rest;
  if (!is_member || merged.members.empty()) return false;
  std::vector<Term> terms = member_at(merged, node.names[0].first);
  if (terms.empty() || terms[0] == kFalseTerm) return !terms.empty();
  const SchemaNode& value = graph_.node(node.names[0].second);
  if (value.kind != NodeKind::kValues && value.kind != NodeKind::kTypes) return false;
  terms.push_back(opposite(node.names[0].second));
  return is_empty(this->conjunction(terms), kMaxLook);
}

// Of what is not one of many options, most is often clear once some of it is.
void SchemaCases::drop_choices_that_hold(Conjunction& conjunction) {
  const MergedSchema merged = merge(conjunction);
  std::erase_if(conjunction.choices, [&](Term choice) {
    const SchemaGraph::Opened opened = graph_.open(choice);
    if (opened.shape != SchemaGraph::Shape::kAny || opened.terms.size() > kMaxLook * kMaxLook) return false;
    return std::any_of(opened.terms.begin(), opened.terms.end(),
                       [&](Term option) { return holds_anyway(conjunction, merged, option); });
  });
}

Term SchemaCases::short_opposite(const Conjunction& conjunction, Term option) {
  const SchemaNode& node = graph_.node(option);
  if (node.kind == NodeKind::kTypes) return opposite(option);
  if (node.kind == NodeKind::kRequired && node.texts.size() == 1) {
    return conjunction.types == kObjectBit ? opposite(option) : kTrueTerm;
  }
  if (is_opposite(option) || conjunction.types != kObjectBit) return kTrueTerm;
  const auto is_held = [&](Term term) {
    return std::binary_search(conjunction.held.begin(), conjunction.held.end(), term);
  };
  const auto is_required = [&](std::string_view name) {
    return std::any_of(conjunction.leaves.begin(), conjunction.leaves.end(), [&](Term leaf) {
      const SchemaNode& at = graph_.node(leaf);
      return at.kind == NodeKind::kRequired && !is_opposite(leaf) && contains(at.texts, name);
    });
  };
  if (node.kind == NodeKind::kAll) {
    Term left = kTrueTerm;  // the only part that is not clear
    for (const Term part : node.terms) {
      const SchemaNode& at = graph_.node(part);
      const bool is_clear = is_held(part) || (at.kind == NodeKind::kRequired && !is_opposite(part) &&
                                              std::all_of(at.texts.begin(), at.texts.end(), is_required));
      if (is_clear) continue;
      if (left != kTrueTerm) return kTrueTerm;
      left = part;
    }
    return left == kTrueTerm ? kFalseTerm : short_opposite(conjunction, left);
  }
  const bool is_member =
      node.kind == NodeKind::kMembers && node.names.size() == 1 && node.patterns.empty() && !node.rest;
  if (!is_member || !is_required(node.names[0].first)) return kTrueTerm;
  const SchemaNode& value = graph_.node(node.names[0].second);
  if (value.kind != NodeKind::kValues && value.kind != NodeKind::kTypes) return kTrueTerm;
  return graph_.member(node.names[0].first, opposite(node.names[0].second), node.source);
}

std::vector<Conjunction> SchemaCases::choose(const Conjunction& given) {
  Conjunction conjunction = given;
  if (conjunction.choices.size() > 1) drop_choices_that_hold(conjunction);
  if (conjunction.choices.empty()) return {conjunction};
  const SchemaGraph::Opened opened = graph_.open(conjunction.choices[0]);
  const bool is_any = opened.shape == SchemaGraph::Shape::kAny;
  std::vector<Conjunction> cases;
  std::vector<Term> options;  // that led to `cases`
  std::vector<Term> terms;    // the option, and that none before it holds as far as that is short
  for (const Term option : opened.terms) {
    terms.push_back(option);
    Conjunction chosen = with(conjunction, terms, 0);
    terms.pop_back();
    if (is_empty(chosen)) continue;
    cases.push_back(std::move(chosen));
    options.push_back(option);
    if (is_any) terms.push_back(short_opposite(conjunction, option));
  }
  if (is_any) return cases;
  // Exactly one: each option without what the others match, unless they are certain not to match the same.
  std::vector<std::vector<Term>> others(options.size());
  for (size_t i = 0; i < options.size(); ++i) {
    for (size_t j = i + 1; j < options.size(); ++j) {
      Conjunction both = cases[i];
      add(both, options[j]);
      finish(both);
      if (is_empty(both)) continue;
      others[i].push_back(opposite(options[j]));
      others[j].push_back(opposite(options[i]));
    }
  }
  std::vector<Conjunction> exact;
  for (size_t i = 0; i < options.size(); ++i) {
    for (const Term other : others[i]) add(cases[i], other);
    finish(cases[i]);
    if (!is_empty(cases[i])) exact.push_back(std::move(cases[i]));
  }
  return exact;
}

MergedSchema SchemaCases::merge(const Conjunction& conjunction) {
  MergedSchema merged;
  merged.source = &graph_.root();
  merged.types = conjunction.types;
  bool has_names = false;
  for (const Term leaf : conjunction.leaves) {
    const SchemaNode& node = graph_.node(leaf);
    if (merged.source == &graph_.root() && node.source) merged.source = node.source;
    switch (node.kind) {
      case NodeKind::kValues:
        if (is_opposite(leaf)) {
          merged.excluded.insert(merged.excluded.end(), node.values.begin(), node.values.end());
        } else if (!merged.values) {
          merged.values = node.values;
        } else {
          std::erase_if(*merged.values, [&](const Json* kept) { return !lists(node, {kept, {}}); });
        }
        break;
      case NodeKind::kBound: merged.bounds.push_back(&node); break;
      case NodeKind::kMultiple: (is_opposite(leaf) ? merged.no_multiples : merged.multiples).push_back(&node); break;
      case NodeKind::kTexts:
      case NodeKind::kPattern:
      case NodeKind::kFormat: merged.texts.push_back({&node, is_opposite(leaf)}); break;
      case NodeKind::kLength: narrow(merged.length, node.count); break;
      case NodeKind::kItems: merged.items.push_back(&node); break;
      case NodeKind::kItemCount: narrow(merged.items_count, node.count); break;
      case NodeKind::kContains: merged.contains.push_back(&node); break;
      case NodeKind::kUnique: merged.unique = &node; break;
      case NodeKind::kMembers:
        merged.members.push_back(&node);
        has_names |= !node.names.empty();
        break;
      case NodeKind::kRequired:
        for (const std::string_view name : node.texts) {
          auto& names = is_opposite(leaf) ? merged.forbidden : merged.required;
          if (!contains(names, name)) names.push_back(name);
        }
        break;
      case NodeKind::kMemberCount: narrow(merged.members_count, node.count); break;
      case NodeKind::kNames: merged.names.push_back(node.terms[0]); break;
      case NodeKind::kSomeMember: merged.some_members.push_back(&node); break;
      default: break;
    }
  }
  // Schemas for objects and arrays often leave the type out.
  if (!conjunction.has_types && !merged.values && has_names != !merged.items.empty()) {
    merged.types &= has_names ? kObjectBit : kArrayBit;
  }
  return merged;
}

std::vector<Term> SchemaCases::item_at(const MergedSchema& schema, size_t index) {
  std::vector<Term> terms;
  for (const SchemaNode* items : schema.items) {
    if (index < items->terms.size()) {
      terms.push_back(items->terms[index]);
    } else if (items->rest) {
      terms.push_back(*items->rest);
    }
  }
  return terms;
}

size_t SchemaCases::prefix_length(const MergedSchema& schema) {
  size_t length = 0;
  for (const SchemaNode* items : schema.items) length = std::max(length, items->terms.size());
  return length;
}

std::vector<Term> SchemaCases::member_at(const MergedSchema& schema, std::string_view name) {
  std::vector<Term> terms;
  for (const SchemaNode* members : schema.members) {
    bool is_known = false;
    for (const auto& [known, term] : members->names) {
      if (known != name) continue;
      is_known = true;
      terms.push_back(term);
    }
    for (const auto& [pattern, term] : members->patterns) {
      const Term matches = graph_.pattern(pattern, *members->source);
      if (!texts_.machine(graph_.node(matches), false)->matches(name)) continue;
      is_known = true;
      terms.push_back(term);
    }
    if (!is_known && members->rest) terms.push_back(*members->rest);
  }
  const Instance as_text{nullptr, name};
  for (const Term names : schema.names) {
    if (!holds(names, as_text)) return {kFalseTerm};
  }
  if (contains(schema.forbidden, name)) return {kFalseTerm};
  return terms;
}

std::optional<std::vector<const Json*>> SchemaCases::finite_values(const Conjunction& conjunction, int depth) {
  static const Json kNull = Json::parse("null", "null"), kTrue = Json::parse("true", "true"),
                    kFalse = Json::parse("false", "false");
  constexpr int kMaxDepth = 8;
  std::vector<const Json*> values;
  if (conjunction.is_false) return values;
  const auto add_value = [&](const Json* value) {
    if (std::none_of(values.begin(), values.end(), [&](const Json* known) { return json_equal(*known, *value); })) {
      values.push_back(value);
    }
  };
  MergedSchema merged = merge(conjunction);
  if (merged.values) {
    for (const Json* value : *merged.values) {
      if (holds(conjunction, {value, {}})) add_value(value);
    }
    return values;
  }
  if (!conjunction.choices.empty()) {
    if (depth >= kMaxDepth) return std::nullopt;
    for (const Conjunction& option : choose(conjunction)) {
      const auto some = finite_values(option, depth + 1);
      if (!some) return std::nullopt;
      for (const Json* value : *some) add_value(value);
    }
    return values;
  }
  if (merged.types & ~(kNullBit | kBooleanBit)) return std::nullopt;
  for (const Json* value : {&kNull, &kTrue, &kFalse}) {
    if (holds(conjunction, {value, {}})) values.push_back(value);
  }
  return values;
}

}  // namespace wick::grammar
