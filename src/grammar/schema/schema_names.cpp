#include "grammar/schema/schema_names.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "grammar/schema/text_rules.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxNameLength = 200;  // of a member, where others may follow

class TextLength : public TextMachine {
 public:
  explicit TextLength(const Count& count) : count_(count) {}
  int start() override { return 0; }
  int next(int state, uint32_t) override {
    if (count_.max && state >= *count_.max) return kDead;
    return count_.max || state < count_.min ? state + 1 : state;
  }
  bool accepts(int state) override { return state >= count_.min; }
  void add_interval_starts(int, std::vector<uint32_t>&) override {}

 private:
  Count count_;
};

// Terms about names, followed by machines side by side.
class NameConditions {
 public:
  NameConditions(SchemaCases& cases, TextProduct& product) : cases_(cases), product_(product) {}

  // Adds what the term depends on. Where it is one of several that must hold, `is_needed`.
  void add(Term term, bool is_needed) {
    const SchemaGraph::Opened opened = cases_.graph().open(term);
    if (opened.shape != SchemaGraph::Shape::kLeaf) {
      for (const Term part : opened.terms) {
        add(part, is_needed && opened.shape == SchemaGraph::Shape::kAll);
        if (opened.shape == SchemaGraph::Shape::kOne) add(opposite(part), false);
      }
      return;
    }
    if (machine_of_.count(term)) return;
    const SchemaNode& node = cases_.graph().node(term);
    TextMachine* machine = nullptr;
    switch (node.kind) {
      case NodeKind::kTexts:
      case NodeKind::kPattern:
      case NodeKind::kFormat: machine = cases_.texts().machine(node, is_opposite(term)); break;
      case NodeKind::kValues: {
        std::vector<std::string_view> texts;
        for (const Json* value : node.values) {
          if (value->is_text()) texts.push_back(value->as_text());
        }
        machine = owned_.emplace_back(std::make_unique<TextList>(texts)).get();
        break;
      }
      case NodeKind::kLength: machine = owned_.emplace_back(std::make_unique<TextLength>(node.count)).get(); break;
      default: return;
    }
    if (!machine) return;
    machine_of_[term] = count_;
    add(*machine, !is_needed          ? TextProduct::Use::kKnown
                  : is_opposite(term) ? TextProduct::Use::kUnwanted
                                      : TextProduct::Use::kWanted);
  }
  size_t add(TextMachine& machine, TextProduct::Use use) {
    product_.add(machine, use);
    return count_++;
  }

  // Whether names that lead to this state satisfy the term.
  bool holds(Term term, int state) const {
    const SchemaGraph::Opened opened = cases_.graph().open(term);
    const auto count = [&] {
      return static_cast<size_t>(
          std::count_if(opened.terms.begin(), opened.terms.end(), [&](Term part) { return holds(part, state); }));
    };
    switch (opened.shape) {
      case SchemaGraph::Shape::kAll: return count() == opened.terms.size();
      case SchemaGraph::Shape::kAny: return count() > 0;
      case SchemaGraph::Shape::kOne:
        return count() == 1 &&
               static_cast<size_t>(std::count_if(opened.terms.begin(), opened.terms.end(),
                                                 [&](Term part) { return holds(opposite(part), state); })) +
                       1 ==
                   opened.terms.size();
      case SchemaGraph::Shape::kLeaf: break;
    }
    if (const auto found = machine_of_.find(term); found != machine_of_.end()) {
      return product_.accepts(state, found->second) != is_opposite(term);
    }
    const SchemaNode& node = cases_.graph().node(term);
    if (node.kind == NodeKind::kTypes) return ((node.types & kStringBit) != 0) != is_opposite(term);
    return !is_opposite(term);  // about other kinds of values, or a format that says nothing
  }

 private:
  SchemaCases& cases_;
  TextProduct& product_;
  std::map<Term, size_t> machine_of_;
  std::vector<std::unique_ptr<TextMachine>> owned_;
  size_t count_ = 0;
};

}  // namespace

OtherNames::OtherNames(const MergedSchema& schema, const std::vector<std::string_view>& named,
                       const SchemaContext& context)
    : schema_(schema), named_(named), context_(context) {
  SchemaGraph& graph = context_.cases.graph();
  for (const SchemaNode* members : schema.members) {
    for (const auto& [pattern, term] : members->patterns) {
      if (term == kTrueTerm && !members->rest) continue;
      if (std::find(patterns_.begin(), patterns_.end(), pattern) != patterns_.end()) continue;
      patterns_.push_back(pattern);
      pattern_terms_.push_back(graph.pattern(pattern, *members->source));
    }
  }
}

ExprId OtherNames::member(const std::vector<Term>& names, const std::vector<Term>& values) {
  std::vector<Term> all_names = schema_.names;
  all_names.insert(all_names.end(), names.begin(), names.end());
  if (!patterns_.empty() || !all_names.empty()) return by_pattern(std::move(all_names), values);
  std::vector<Term> terms = values;
  for (const SchemaNode* members : schema_.members) {
    if (members->rest) terms.push_back(*members->rest);
  }
  if (context_.cases.conjunction(terms).is_false) return context_.rules.never();
  const ExprId name = named_.empty() ? context_.pieces.string() : unlike_named();
  return context_.rules.sequence({name, context_.pieces.mark(':'), context_.value(terms)});
}

ExprId OtherNames::by_pattern(std::vector<Term> names, const std::vector<Term>& values) {
  RuleSet& rules = context_.rules;
  const std::string& place = schema_.source->place();
  TextProduct product(place);
  NameConditions conditions(context_.cases, product);
  TextList named(named_);
  const size_t named_at = conditions.add(named, TextProduct::Use::kUnwanted);
  // Where no other names are allowed, the only pattern must match.
  const bool is_closed = std::any_of(schema_.members.begin(), schema_.members.end(), [](const SchemaNode* members) {
    return members->rest == kFalseTerm && members->patterns.size() == 1;
  });
  for (const Term pattern : pattern_terms_) conditions.add(pattern, is_closed && pattern_terms_.size() == 1);
  for (const Term name : names) conditions.add(name, true);
  std::map<std::vector<bool>, ExprId> known;  // by the patterns that match
  const auto finish = [&](int state) {
    if (product.accepts(state, named_at)) return rules.never();
    for (const Term name : names) {
      if (!conditions.holds(name, state)) return rules.never();
    }
    std::vector<bool> matches;
    for (const Term pattern : pattern_terms_) matches.push_back(conditions.holds(pattern, state));
    const auto [entry, is_new] = known.try_emplace(matches, 0);
    if (!is_new) return entry->second;
    std::vector<Term> terms = values;
    for (const SchemaNode* members : schema_.members) {
      bool is_matched = false;
      for (const auto& [pattern, term] : members->patterns) {
        const auto at = std::find(patterns_.begin(), patterns_.end(), pattern) - patterns_.begin();
        if (static_cast<size_t>(at) == patterns_.size() || !matches[static_cast<size_t>(at)]) continue;
        is_matched = true;
        terms.push_back(term);
      }
      if (!is_matched && members->rest) terms.push_back(*members->rest);
    }
    if (context_.cases.conjunction(terms).is_false) return entry->second = rules.never();
    return entry->second = rules.sequence({rules.bytes("\""), context_.pieces.mark(':'), context_.value(terms)});
  };
  const auto chars = [&](const CodepointSet& set) { return context_.pieces.plain_chars(set); };
  return rules.sequence({rules.bytes("\""), compile_product(product, {}, place, rules, chars, finish)});
}

ExprId OtherNames::unlike_named() {
  std::vector<std::vector<uint32_t>> names;
  for (const std::string_view name : named_) {
    names.push_back(codepoints_of(name));
    if (names.back().size() > kMaxNameLength) {
      throw schema_error(*schema_.source, cat("a member's name is longer than ", kMaxNameLength,
                                              " characters where other members are allowed"));
    }
  }
  std::sort(names.begin(), names.end());
  return context_.pieces.text_unlike(names);
}

}  // namespace wick::grammar
