#include <algorithm>

#include "base/text.h"
#include "grammar/schema/schema_cases.h"
#include "grammar/schema/schema_number.h"
#include "grammar/schema/schema_string.h"

namespace wick::grammar {
namespace {

constexpr int kMaxDepth = 4;            // of members and choices looked into for is_empty
constexpr size_t kMaxOptions = 16;      // of a choice, for is_empty
constexpr size_t kMaxTextStates = 400;  // of patterns together, for is_empty

int64_t length_of(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

bool is_within(int64_t value, const Count& count) { return value >= count.min && (!count.max || value <= *count.max); }
bool is_empty_count(const Count& count) { return count.max && *count.max < count.min; }

}  // namespace

bool SchemaCases::holds(const Conjunction& conjunction, const Instance& value) {
  if (conjunction.is_false) return false;
  const uint8_t type = value.value ? type_of(*value.value) : uint8_t{kStringBit};
  const auto all_hold = [&](const std::vector<Term>& terms) {
    return std::all_of(terms.begin(), terms.end(), [&](Term term) { return holds(term, value); });
  };
  return (conjunction.types & type) && all_hold(conjunction.leaves) && all_hold(conjunction.choices);
}

bool SchemaCases::holds(Term term, const Instance& value) {
  const SchemaGraph::Opened opened = graph_.open(term);
  const auto count = [&] {
    return std::count_if(opened.terms.begin(), opened.terms.end(), [&](Term part) { return holds(part, value); });
  };
  const auto size = static_cast<std::ptrdiff_t>(opened.terms.size());
  switch (opened.shape) {
    case SchemaGraph::Shape::kAll: return count() == size;
    case SchemaGraph::Shape::kAny: return count() > 0;
    case SchemaGraph::Shape::kOne: {
      // A term and its opposite may both be said not to hold, of what is written in one way only.
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        bool is_only = true;
        for (std::ptrdiff_t j = 0; j < size && is_only; ++j) {
          const Term option = opened.terms[static_cast<size_t>(j)];
          is_only = holds(i == j ? option : opposite(option), value);
        }
        if (is_only) return true;
      }
      return false;
    }
    case SchemaGraph::Shape::kLeaf: return holds_leaf(term, value);
  }
  return false;
}

bool SchemaCases::holds_leaf(Term term, const Instance& instance) {
  const SchemaNode& node = graph_.node(term);
  const Json* value = instance.value;
  const bool is_not = is_opposite(term);
  const uint8_t type = value ? type_of(*value) : uint8_t{kStringBit};
  const std::string_view text = !value ? instance.name : value->is_text() ? value->as_text() : std::string_view();
  const bool has_guard = node.kind != NodeKind::kTypes && node.kind != NodeKind::kValues;
  // Said about other kinds of values; `is_not` then means that the value is of the kind.
  const auto is_other = [&](uint8_t types) { return has_guard && !(type & types); };
  switch (node.kind) {
    case NodeKind::kTypes: return ((node.types & type) != 0) != is_not;
    case NodeKind::kValues: {
      return lists(node, instance) != is_not;
    }
    case NodeKind::kBound:
    case NodeKind::kMultiple:
      if (is_other(kNumberBits)) return !is_not;
      return allows_number(node, *value) != is_not;
    case NodeKind::kFormat:
      if (type & kNumberBits) return !is_not && allows_number(node, *value);
      [[fallthrough]];
    case NodeKind::kTexts:
    case NodeKind::kPattern: {
      if (is_other(kStringBit)) return !is_not;
      TextMachine* machine = texts_.machine(node, is_not);
      return machine ? machine->matches(text) != is_not : !is_not;
    }
    case NodeKind::kLength: return is_other(kStringBit) || is_within(length_of(text), node.count);
    case NodeKind::kItemCount:
      return is_other(kArrayBit) || is_within(static_cast<int64_t>(value->as_array().size()), node.count);
    case NodeKind::kItems: {
      if (is_other(kArrayBit)) return true;
      const auto& items = value->as_array();
      for (size_t i = 0; i < items.size(); ++i) {
        const Term item = i < node.terms.size() ? node.terms[i] : node.rest.value_or(kTrueTerm);
        if (!holds(item, {&items[i], {}})) return false;
      }
      return true;
    }
    case NodeKind::kContains: {
      if (is_other(kArrayBit)) return true;
      const auto& items = value->as_array();
      int64_t certain = 0, possible = 0;
      for (size_t i = static_cast<size_t>(node.from); i < items.size(); ++i) {
        if (node.to && static_cast<int64_t>(i) >= *node.to) break;
        certain += holds(node.terms[0], {&items[i], {}});
        possible += !holds(opposite(node.terms[0]), {&items[i], {}});
      }
      return certain >= node.count.min && (!node.count.max || possible <= *node.count.max);
    }
    case NodeKind::kUnique: {
      if (is_other(kArrayBit)) return true;
      const auto& items = value->as_array();
      for (size_t i = 0; i < items.size(); ++i) {
        for (size_t j = i + 1; j < items.size(); ++j) {
          if (json_equal(items[i], items[j])) return false;
        }
      }
      return true;
    }
    case NodeKind::kMembers: return is_other(kObjectBit) || holds_members(node, *value);
    case NodeKind::kRequired:
      if (is_other(kObjectBit)) return !is_not;
      return std::all_of(node.texts.begin(), node.texts.end(),
                         [&](std::string_view name) { return (value->find(name) != nullptr) != is_not; });
    case NodeKind::kMemberCount:
      return is_other(kObjectBit) || is_within(static_cast<int64_t>(value->as_object().size()), node.count);
    case NodeKind::kNames:
      return is_other(kObjectBit) ||
             std::all_of(value->as_object().begin(), value->as_object().end(), [&](const Json::Member& member) {
               return holds(node.terms[0], {nullptr, member.first});
             });
    case NodeKind::kSomeMember:
      return is_other(kObjectBit) ||
             std::any_of(value->as_object().begin(), value->as_object().end(), [&](const Json::Member& member) {
               return holds(node.terms[0], {nullptr, member.first}) && holds(node.terms[1], {&member.second, {}});
             });
    default: return false;
  }
}

bool SchemaCases::lists(const SchemaNode& values, const Instance& instance) {
  constexpr size_t kFew = 8;
  const bool is_text = !instance.value || instance.value->is_text();
  const std::string_view text = !instance.value ? instance.name
                                : is_text       ? instance.value->as_text()
                                                : std::string_view();
  if (is_text && values.values.size() > kFew) {
    const auto [entry, is_new] = listed_texts_.try_emplace(&values);
    if (is_new) {
      for (const Json* item : values.values) {
        if (item->is_text()) entry->second.insert(item->as_text());
      }
    }
    return entry->second.count(text) > 0;
  }
  return std::any_of(values.values.begin(), values.values.end(), [&](const Json* item) {
    return is_text ? item->is_text() && item->as_text() == text : json_equal(*item, *instance.value);
  });
}

bool SchemaCases::holds_members(const SchemaNode& node, const Json& object) {
  MergedSchema alone;
  alone.members.push_back(&node);
  for (const auto& [name, value] : object.as_object()) {
    for (const Term term : member_at(alone, name)) {
      if (!holds(term, {&value, {}})) return false;
    }
  }
  return true;
}

bool SchemaCases::is_empty(const Conjunction& conjunction, int depth) {
  if (conjunction.is_false) return true;
  if (depth > kMaxDepth) return false;
  MergedSchema schema = merge(conjunction);
  if (schema.values) {
    return std::none_of(schema.values->begin(), schema.values->end(), [&](const Json* value) {
      return holds(conjunction, {value, {}});
    });
  }
  uint8_t types = conjunction.types;
  if ((types & kNumberBits) && has_no_number(schema)) types &= ~kNumberBits;
  if ((types & kStringBit) && (is_empty_count(schema.length) || is_empty_text(schema))) types &= ~kStringBit;
  if ((types & kArrayBit) && is_empty_array(schema, depth)) types &= ~kArrayBit;
  if ((types & kObjectBit) && is_empty_object(schema, depth)) types &= ~kObjectBit;
  if (types == 0) return true;
  for (size_t i = 0; i < conjunction.choices.size(); ++i) {
    const SchemaGraph::Opened opened = graph_.open(conjunction.choices[i]);
    if (opened.terms.size() > kMaxOptions) continue;
    const bool all_empty = std::all_of(opened.terms.begin(), opened.terms.end(), [&](Term option) {
      if (!(graph_.types_of(option) & types)) return true;
      return depth < 2 && is_empty(with(conjunction, std::span(&option, 1), i), depth + 2);
    });
    if (all_empty) return true;
  }
  return false;
}

bool SchemaCases::is_empty_text(const MergedSchema& schema) {
  if (schema.texts.size() < 2) return false;
  TextProduct product(schema.source->place());
  std::vector<TextMachine*> machines;
  for (const auto& [node, is_not] : schema.texts) {
    TextMachine* machine = texts_.machine(*node, is_not);
    if (!machine && is_not) return true;
    if (!machine) continue;
    product.add(*machine, is_not ? TextProduct::Use::kUnwanted : TextProduct::Use::kWanted);
    machines.push_back(machine);
  }
  std::vector<bool> is_opposite;
  for (const auto& text : schema.texts) {
    if (texts_.machine(*text.node, text.is_opposite)) is_opposite.push_back(text.is_opposite);
  }
  const int start = product.start();
  if (start == TextMachine::kDead) return true;
  std::vector<int> reached = {start};
  std::vector<bool> seen = {true};
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached.size() > kMaxTextStates) return false;
    bool is_accepted = true;
    for (size_t m = 0; m < is_opposite.size() && is_accepted; ++m) {
      is_accepted = product.accepts(reached[i], m) != is_opposite[m];
    }
    if (is_accepted) return false;
    for (const auto& step : product.steps(reached[i])) {
      const auto target = static_cast<size_t>(step.target);
      if (seen.size() <= target) seen.resize(target + 1, false);
      if (seen[target]) continue;
      seen[target] = true;
      reached.push_back(step.target);
    }
  }
  return true;
}

bool SchemaCases::is_empty_array(const MergedSchema& schema, int depth) {
  if (is_empty_count(schema.items_count)) return true;
  const size_t prefix = prefix_length(schema);
  const auto certain = static_cast<size_t>(std::min<int64_t>(schema.items_count.min, static_cast<int64_t>(prefix) + 1));
  for (size_t i = 0; i < certain; ++i) {
    if (is_empty(conjunction(item_at(schema, i)), depth + 1)) return true;
  }
  // Something must be contained that no item can be.
  return std::any_of(schema.contains.begin(), schema.contains.end(), [&](const SchemaNode* node) {
    if (node->count.max && *node->count.max < node->count.min) return true;
    if (node->count.min == 0) return false;
    const auto last = node->to ? std::min(static_cast<size_t>(*node->to), prefix + 1) : prefix + 1;
    for (size_t i = std::min(static_cast<size_t>(node->from), prefix); i < last; ++i) {
      std::vector<Term> terms = item_at(schema, i);
      terms.push_back(node->terms[0]);
      if (!is_empty(conjunction(terms), depth + 1)) return false;
    }
    return true;
  });
}

bool SchemaCases::is_empty_object(const MergedSchema& schema, int depth) {
  if (is_empty_count(schema.members_count)) return true;
  if (schema.members_count.max && static_cast<int64_t>(schema.required.size()) > *schema.members_count.max) return true;
  return std::any_of(schema.required.begin(), schema.required.end(),
                     [&](std::string_view name) { return is_empty(conjunction(member_at(schema, name)), depth + 1); });
}

}  // namespace wick::grammar
