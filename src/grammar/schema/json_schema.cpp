#include "grammar/schema/json_schema.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/text.h"
#include "grammar/automaton/frames.h"
#include "grammar/schema/json_pieces.h"
#include "grammar/schema/schema_context.h"
#include "grammar/schema/schema_number.h"
#include "grammar/schema/schema_string.h"
#include "grammar/schema/text_rules.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxConjunctions = 20000;

class SchemaCompiler {
 public:
  SchemaCompiler(const Json& root, JsonLayout layout, MemberOrder order, RuleSet& rules)
      : graph_(root),
        cases_(graph_, texts_),
        rules_(rules),
        pieces_(rules, layout),
        context_{cases_,
                 rules_,
                 pieces_,
                 order,
                 [this](const std::vector<Term>& terms) { return value(terms); },
                 [this](const Json& json) { return literal(json); },
                 {}} {}

  RuleId compile() {
    const Term root = graph_.term(graph_.root());
    const RuleId first = rules_.add_rule(graph_.root().place());
    rules_.define(first, call(cases_.conjunction(std::span(&root, 1))));
    while (!open_.empty()) {
      const auto [conjunction, rule] = std::move(open_.front());
      open_.pop_front();
      rules_.define(rule, build(conjunction));
    }
    return first;
  }

 private:
  struct Key {
    std::vector<Term> terms;  // leaves and choices, each sorted
    uint32_t types = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      uint64_t hash = key.types;
      for (const Term term : key.terms) hash = mix_hash(hash, term);
      return hash;
    }
  };

  // Rules are made here and filled in later, so that schemas may refer to each other.
  ExprId call(Conjunction conjunction) {
    if (conjunction.is_false) return rules_.never();
    if (conjunction.leaves.empty() && conjunction.choices.empty() && conjunction.types == kAllTypes)
      return pieces_.value();
    Key key{conjunction.leaves, conjunction.types + 256u * conjunction.has_types};
    std::sort(key.terms.begin(), key.terms.end());
    const auto choices = static_cast<std::ptrdiff_t>(key.terms.size());
    key.terms.insert(key.terms.end(), conjunction.choices.begin(), conjunction.choices.end());
    std::sort(key.terms.begin() + choices, key.terms.end());
    const auto [entry, is_new] = known_.try_emplace(std::move(key), 0);
    if (is_new) {
      if (known_.size() > kMaxConjunctions) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat(graph_.root().place(), ": the schema has more than ", kMaxConjunctions, " combinations"));
      }
      const Term first = !conjunction.leaves.empty()    ? conjunction.leaves[0]
                         : !conjunction.choices.empty() ? conjunction.choices[0]
                                                        : kTrueTerm;
      entry->second = rules_.add_rule(graph_.source(first).place());
      open_.emplace_back(std::move(conjunction), entry->second);
    }
    return rules_.call(entry->second);
  }

  ExprId value(const std::vector<Term>& terms) { return call(cases_.conjunction(terms)); }

  ExprId build(const Conjunction& conjunction) {
    MergedSchema schema = cases_.merge(conjunction);
    if (schema.values) return build_values(conjunction, schema);
    if (!conjunction.choices.empty()) {
      std::vector<ExprId> options;
      for (Conjunction& option : cases_.choose(conjunction)) options.push_back(call(std::move(option)));
      return rules_.choice(std::move(options));
    }
    const auto is_excluded = [&](const auto& is_it) {
      return std::any_of(schema.excluded.begin(), schema.excluded.end(),
                         [&](const Json* value) { return is_it(*value); });
    };
    std::vector<ExprId> options;
    if ((schema.types & kNullBit) && !is_excluded([](const Json& value) { return value.is_null(); })) {
      options.push_back(pieces_.null());
    }
    if (schema.types & kBooleanBit) {
      for (const bool flag : {true, false}) {
        if (is_excluded([&](const Json& value) { return value.is_bool() && value.as_bool() == flag; })) continue;
        options.push_back(rules_.bytes(flag ? "true" : "false"));
      }
    }
    if (schema.types & kNumberBits) options.push_back(compile_number(schema, rules_, pieces_));
    if (schema.types & kStringBit) options.push_back(compile_string(schema, texts_, rules_, pieces_));
    if (schema.types & kArrayBit) options.push_back(compile_array(schema, context_));
    if (schema.types & kObjectBit) options.push_back(compile_object(schema, context_));
    return rules_.choice(std::move(options));
  }

  ExprId build_values(const Conjunction& conjunction, const MergedSchema& schema) {
    std::vector<std::string> scalars;
    std::vector<ExprId> options;
    for (const Json* value : *schema.values) {
      if (!cases_.holds(conjunction, {value, {}})) continue;
      if (value->is_array() || value->is_object()) {
        options.push_back(literal(*value));
      } else {
        scalars.push_back(scalar(*value));
      }
    }
    options.push_back(compile_list(std::move(scalars), rules_));
    return rules_.choice(std::move(options));
  }

  static std::string scalar(const Json& value) {
    if (value.is_null()) return "null";
    if (value.is_bool()) return value.as_bool() ? "true" : "false";
    if (value.is_text()) return JsonPieces::quoted(value.as_text());
    const auto whole = small_integer(value);
    if (value.is_int() && !whole) throw schema_error(value, "this number is too large");
    return whole ? cat(*whole) : cat(value.as_number());
  }

  ExprId literal(const Json& value) {
    if (!value.is_array() && !value.is_object()) return rules_.bytes(scalar(value));
    std::vector<ExprId> parts;
    const auto add = [&](ExprId part) {
      if (!parts.empty()) parts.push_back(pieces_.mark(','));
      parts.push_back(part);
    };
    if (value.is_array()) {
      for (const Json& item : value.as_array()) add(literal(item));
      return pieces_.enclosed('[', rules_.sequence(std::move(parts)), ']');
    }
    for (const auto& [name, item] : value.as_object()) {
      add(rules_.sequence({rules_.bytes(JsonPieces::quoted(name)), pieces_.mark(':'), literal(item)}));
    }
    return pieces_.enclosed('{', rules_.sequence(std::move(parts)), '}');
  }

  SchemaGraph graph_;
  SchemaTexts texts_;
  SchemaCases cases_;
  RuleSet& rules_;
  JsonPieces pieces_;
  SchemaContext context_;
  std::unordered_map<Key, RuleId, KeyHash> known_;
  std::deque<std::pair<Conjunction, RuleId>> open_;
};

}  // namespace

RuleId compile_json_schema(const Json& schema, JsonLayout layout, MemberOrder order, RuleSet& rules) {
  return SchemaCompiler(schema, layout, order, rules).compile();
}

}  // namespace wick::grammar
