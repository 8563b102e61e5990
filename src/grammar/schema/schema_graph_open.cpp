#include <algorithm>

#include "base/text.h"
#include "grammar/schema/schema_graph.h"

namespace wick::grammar {
namespace {

constexpr int kMaxChain = 200;            // of references
constexpr size_t kMaxAlternatives = 128;  // that unevaluatedItems or unevaluatedProperties tell apart
constexpr size_t kMaxTogether = 3;        // options of anyOf of which all combinations are alternatives

std::vector<Term> opposites(const std::vector<Term>& terms) {
  std::vector<Term> result;
  result.reserve(terms.size());
  for (const Term term : terms) result.push_back(opposite(term));
  return result;
}

bool is_plain(const Json& value) { return !value.is_array() && !value.is_object(); }

}  // namespace

SchemaGraph::Opened SchemaGraph::open(Term term) {
  const SchemaNode& at = node(term);
  const bool is_not = is_opposite(term);
  const auto one = [](Term to) { return Opened{Shape::kAll, {to}}; };
  switch (at.kind) {
    case NodeKind::kTrue: return {is_not ? Shape::kAny : Shape::kAll, {}};
    case NodeKind::kAll:
      if (is_not) return {Shape::kAny, opposites(at.terms)};
      return {Shape::kAll, at.terms};
    case NodeKind::kAny:
      if (is_not) return {Shape::kAll, opposites(at.terms)};
      return {Shape::kAny, at.terms};
    case NodeKind::kOne:
      if (is_not) return one(expansion_of(term));
      return {Shape::kOne, at.terms};
    case NodeKind::kIf: return one(expansion_of(term));
    case NodeKind::kReference: return one(target(term / 2) ^ (term & 1));
    case NodeKind::kUnevaluated:
      if (is_not) {
        throw schema_error(source(term), "the opposite of unevaluatedItems and unevaluatedProperties is not supported");
      }
      return one(resolve_unevaluated(term / 2));
    case NodeKind::kTypes:
    case NodeKind::kMultiple:
    case NodeKind::kTexts:
    case NodeKind::kPattern:
    case NodeKind::kFormat: return {};
    case NodeKind::kValues:
      if (!is_not || std::all_of(at.values.begin(), at.values.end(), [](const Json* v) { return is_plain(*v); }))
        return {};
      return one(expansion_of(term));
    case NodeKind::kRequired:
      if (!is_not || at.texts.size() == 1) return {};
      return one(expansion_of(term));
    case NodeKind::kUnique:
      if (is_not) throw schema_error(source(term), "the opposite of uniqueItems is not supported");
      return {};
    default:
      if (!is_not) return {};
      return one(expansion_of(term));
  }
}

Term SchemaGraph::expansion_of(Term term) {
  if (const auto known = expansions_.find(term); known != expansions_.end()) return known->second;
  const SchemaNode& at = node(term);
  Term result = kFalseTerm;
  const auto outside = [&](uint8_t guard) {
    std::vector<Term> options;
    if (at.count.min > 0) options.push_back(count(at.kind, {0, at.count.min - 1}, at.source));
    if (at.count.max) options.push_back(count(at.kind, {*at.count.max + 1, {}}, at.source));
    return all({types(guard), any(std::move(options))});
  };
  switch (at.kind) {
    case NodeKind::kOne: {  // none, or two
      std::vector<Term> options = {all(opposites(at.terms))};
      for (size_t i = 0; i < at.terms.size(); ++i) {
        for (size_t j = i + 1; j < at.terms.size(); ++j) options.push_back(all({at.terms[i], at.terms[j]}));
      }
      result = any(std::move(options));
      break;
    }
    case NodeKind::kIf:
      // Without then and else it asserts nothing.
      if (at.terms[1] == kTrueTerm && at.terms[2] == kTrueTerm) {
        result = kTrueTerm ^ (term & 1);
      } else {
        result =
            any({all({at.terms[0], at.terms[1] ^ (term & 1)}), all({opposite(at.terms[0]), at.terms[2] ^ (term & 1)})});
      }
      break;
    case NodeKind::kValues: {
      std::vector<Term> terms;
      SchemaNode plain{.kind = NodeKind::kValues, .source = at.source};
      for (const Json* value : at.values) {
        if (is_plain(*value)) {
          plain.values.push_back(value);
        } else {
          terms.push_back(opposite(equal(*value)));
        }
      }
      if (!plain.values.empty()) terms.push_back(opposite(add(std::move(plain))));
      result = all(std::move(terms));
      break;
    }
    case NodeKind::kBound: {
      SchemaNode bound = at;
      bound.is_lower = !at.is_lower;
      bound.is_exclusive = !at.is_exclusive;
      result = all({types(kNumberBits), add(std::move(bound))});
      break;
    }
    case NodeKind::kRequired: {
      std::vector<Term> options;
      for (const std::string_view name : at.texts) options.push_back(opposite(required(name)));
      result = any(std::move(options));
      break;
    }
    case NodeKind::kLength: result = outside(kStringBit); break;
    case NodeKind::kItemCount: result = outside(kArrayBit); break;
    case NodeKind::kMemberCount: result = outside(kObjectBit); break;
    case NodeKind::kContains: {
      std::vector<Term> options;
      SchemaNode few = at, many = at;
      few.count = {0, at.count.min - 1};
      many.count = {at.count.max.value_or(0) + 1, {}};
      if (at.count.min > 0) options.push_back(add(std::move(few)));
      if (at.count.max) options.push_back(add(std::move(many)));
      result = all({types(kArrayBit), any(std::move(options))});
      break;
    }
    case NodeKind::kNames:
      result =
          all({types(kObjectBit),
               add({.kind = NodeKind::kSomeMember, .source = at.source, .terms = {opposite(at.terms[0]), kTrueTerm}})});
      break;
    case NodeKind::kItems: result = opposite_of_items(at); break;
    case NodeKind::kMembers: result = opposite_of_members(at); break;
    default: throw schema_error(source(term), "the opposite of this is not supported");
  }
  expansions_.emplace(term, result);
  return result;
}

Term SchemaGraph::opposite_of_items(const SchemaNode& node) {
  std::vector<Term> options;
  const auto some = [&](int64_t from, std::optional<int64_t> to, Term item) {
    if (item == kFalseTerm) return;
    options.push_back(add({.kind = NodeKind::kContains,
                           .source = node.source,
                           .terms = {item},
                           .count = {1, {}},
                           .from = from,
                           .to = to}));
  };
  const auto prefix = static_cast<int64_t>(node.terms.size());
  for (int64_t i = 0; i < prefix; ++i) some(i, i + 1, opposite(node.terms[static_cast<size_t>(i)]));
  if (node.rest) some(prefix, {}, opposite(*node.rest));
  return all({types(kArrayBit), any(std::move(options))});
}

Term SchemaGraph::opposite_of_members(const SchemaNode& node) {
  std::vector<Term> options;
  const auto some = [&](Term name, Term value) {
    if (value != kFalseTerm) {
      options.push_back(add({.kind = NodeKind::kSomeMember, .source = node.source, .terms = {name, value}}));
    }
  };
  for (const auto& [name, value] : node.names) {
    if (value != kTrueTerm) options.push_back(all({required(name), member(name, opposite(value), node.source)}));
  }
  std::vector<Term> others;
  for (const auto& [text, value] : node.patterns) {
    const Term matches = pattern(text, *node.source);
    some(matches, opposite(value));
    others.push_back(opposite(matches));
  }
  if (node.rest) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : node.names) names.push_back(name);
    if (!names.empty()) others.push_back(opposite(texts(std::move(names))));
    some(all(std::move(others)), opposite(*node.rest));
  }
  return all({types(kObjectBit), any(std::move(options))});
}

Term SchemaGraph::find_target(uint32_t reference) {
  const auto [entry, is_new] = targets_.try_emplace(reference, kFalseTerm);
  if (!is_new) return entry->second;
  const SchemaNode& at = nodes_[reference];
  const Term found = term(at.is_dynamic ? references_.resolve_dynamic(*at.source, *at.owner)
                                        : references_.resolve(*at.source, *at.owner));
  targets_[reference] = found;
  return found;
}

Term SchemaGraph::target(uint32_t reference) {
  const Term found = find_target(reference);
  check_loops(2 * reference, 0);
  return found;
}

// A value that satisfies a schema if it satisfies it: nothing can be made of that.
void SchemaGraph::check_loops(Term from, int references) {
  const uint32_t id = from / 2;
  if (marks_.size() <= id) marks_.resize(nodes_.size(), Mark::kNew);
  if (marks_[id] == Mark::kDone) return;
  if (marks_[id] == Mark::kOpen) throw schema_error(source(from), "refers to itself without an end");
  marks_[id] = Mark::kOpen;
  switch (nodes_[id].kind) {
    case NodeKind::kAll:
    case NodeKind::kAny:
    case NodeKind::kOne:
    case NodeKind::kIf:
      for (const Term term : nodes_[id].terms) check_loops(term, references);
      break;
    case NodeKind::kUnevaluated: check_loops(nodes_[id].terms[0], references); break;
    case NodeKind::kReference:
      if (references >= kMaxChain) {
        throw schema_error(source(from), cat("more than ", kMaxChain, " references in a row"));
      }
      check_loops(find_target(id), references + 1);
      break;
    default: break;
  }
  marks_[id] = Mark::kDone;
}

uint8_t SchemaGraph::types_of(Term term) {
  const SchemaNode& at = node(term);
  switch (at.kind) {  // what costs less than looking it up
    case NodeKind::kTrue: return is_opposite(term) ? 0 : kAllTypes;
    case NodeKind::kTypes: return is_opposite(term) ? kAllTypes & ~at.types : at.types;
    default: break;
  }
  if (const auto known = types_of_.find(term); known != types_of_.end()) return known->second;
  uint8_t result = kAllTypes;
  switch (at.kind) {
    case NodeKind::kValues:
      if (!is_opposite(term)) {
        result = 0;
        for (const Json* value : at.values) result |= type_of(*value);
      }
      break;
    case NodeKind::kUnevaluated:
      if (!is_opposite(term)) result = types_of(at.terms[0]);
      break;
    case NodeKind::kBound:
    case NodeKind::kMultiple: result = is_opposite(term) ? uint8_t{kNumberBits} : result; break;
    case NodeKind::kTexts:
    case NodeKind::kPattern:
    case NodeKind::kFormat:
    case NodeKind::kLength: result = is_opposite(term) ? uint8_t{kStringBit} : result; break;
    case NodeKind::kItems:
    case NodeKind::kItemCount:
    case NodeKind::kContains:
    case NodeKind::kUnique: result = is_opposite(term) ? uint8_t{kArrayBit} : result; break;
    case NodeKind::kMembers:
    case NodeKind::kRequired:
    case NodeKind::kMemberCount:
    case NodeKind::kNames:
    case NodeKind::kSomeMember: result = is_opposite(term) ? uint8_t{kObjectBit} : result; break;
    default: {
      const Opened opened = open(term);
      if (opened.shape != Shape::kAll) result = 0;
      for (const Term part : opened.terms) {
        result = opened.shape == Shape::kAll ? result & types_of(part) : result | types_of(part);
      }
    }
  }
  types_of_.emplace(term, result);
  return result;
}

std::vector<SchemaGraph::Alternative> SchemaGraph::alternatives(Term term) {
  if (!is_opposite(term)) {
    const SchemaNode at = node(term);
    std::vector<Alternative> result;
    const auto check_size = [&] {
      if (result.size() > kMaxAlternatives) {
        throw schema_error(source(term), cat("unevaluatedItems and unevaluatedProperties tell more than ",
                                             kMaxAlternatives, " cases apart"));
      }
    };
    const auto joined = [](const Alternative& a, const Alternative& b) {
      Alternative both = a;
      both.terms.insert(both.terms.end(), b.terms.begin(), b.terms.end());
      both.evaluating.insert(both.evaluating.end(), b.evaluating.begin(), b.evaluating.end());
      return both;
    };
    const auto add_product = [&](std::vector<Alternative> product, const std::vector<Term>& parts) {
      for (const Term part : parts) {
        const std::vector<Alternative> more = alternatives(part);
        std::vector<Alternative> next;
        for (const Alternative& a : product) {
          for (const Alternative& b : more) next.push_back(joined(a, b));
        }
        product = std::move(next);
        if (product.size() > kMaxAlternatives) break;
      }
      result.insert(result.end(), product.begin(), product.end());
      check_size();
    };
    switch (at.kind) {
      case NodeKind::kAll: add_product({{}}, at.terms); return result;
      case NodeKind::kReference: return alternatives(target(term / 2));
      case NodeKind::kUnevaluated: return alternatives(resolve_unevaluated(term / 2));
      case NodeKind::kAny: {
        // A value may satisfy several options, and is then evaluated by all of them.
        const size_t count = at.terms.size();
        for (size_t size = 1; size <= count; ++size) {
          if (size > 1 && size < count && count > kMaxTogether) continue;
          std::vector<bool> chosen(count, false);
          std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(size), true);
          do {
            std::vector<Term> parts;
            for (size_t i = 0; i < count; ++i) {
              if (chosen[i]) parts.push_back(at.terms[i]);
            }
            add_product({{}}, parts);
          } while (std::prev_permutation(chosen.begin(), chosen.end()));
        }
        return result;
      }
      case NodeKind::kOne:
        for (size_t i = 0; i < at.terms.size(); ++i) {
          Alternative others;
          for (size_t j = 0; j < at.terms.size(); ++j) {
            if (j != i) others.terms.push_back(opposite(at.terms[j]));
          }
          add_product({others}, {at.terms[i]});
        }
        return result;
      case NodeKind::kIf:
        add_product({{}}, {at.terms[0], at.terms[1]});
        add_product({{{opposite(at.terms[0])}, {}}}, {at.terms[2]});
        return result;
      case NodeKind::kMembers:
      case NodeKind::kItems:
      case NodeKind::kContains: return {{{term}, {term}}};
      default: break;
    }
  }
  return {{{term}, {}}};
}

// Says for each alternative what remains, with additionalProperties or items.
Term SchemaGraph::resolve_unevaluated(uint32_t id) {
  const auto [entry, is_new] = targets_.try_emplace(id, kFalseTerm);
  if (!is_new) return entry->second;
  const SchemaNode at = nodes_[id];
  std::vector<Term> options;
  for (const Alternative& alternative : alternatives(at.terms[0])) {
    std::vector<Term> terms = alternative.terms;
    SchemaNode items{.kind = NodeKind::kItems, .source = at.source, .rest = at.rest};
    SchemaNode members{.kind = NodeKind::kMembers, .source = at.source};
    if (!at.names.empty()) members.rest = at.names[0].second;
    bool all_items = !items.rest, all_members = !members.rest;
    for (const Term evaluating : alternative.evaluating) {
      const SchemaNode& by = node(evaluating);
      if (by.kind == NodeKind::kMembers) {
        all_members |= by.rest.has_value();
        for (const auto& [name, ignored] : by.names) members.names.emplace_back(name, kTrueTerm);
        for (const auto& [pattern, ignored] : by.patterns) members.patterns.emplace_back(pattern, kTrueTerm);
      } else if (by.kind == NodeKind::kItems) {
        all_items |= by.rest.has_value();
        items.terms.resize(std::max(items.terms.size(), by.terms.size()), kTrueTerm);
      } else if (items.rest && items.rest != kTrueTerm) {
        throw schema_error(*by.source, "contains beside unevaluatedItems is not supported");
      }
    }
    if (!all_items) terms.push_back(add(std::move(items)));
    if (!all_members) terms.push_back(add(std::move(members)));
    options.push_back(all(std::move(terms)));
  }
  const Term result = any(std::move(options));
  targets_[id] = result;
  return result;
}

}  // namespace wick::grammar
