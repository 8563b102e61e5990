#include <algorithm>
#include <map>

#include "base/text.h"
#include "grammar/schema/schema_context.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxContains = 3;
constexpr size_t kMaxStates = 20000;  // of lists that must contain something
constexpr int64_t kMaxPairs = 16;     // items compared with each other for uniqueItems
constexpr size_t kMaxUnlike = 1000;   // values of unlike items

class ArrayCompiler {
 public:
  ArrayCompiler(const MergedSchema& schema, const SchemaContext& context)
      : schema_(schema),
        context_(context),
        rules_(context.rules),
        pieces_(context.pieces),
        prefix_(static_cast<int64_t>(SchemaCases::prefix_length(schema))),
        count_(schema.items_count) {}

  ExprId compile() {
    if (count_.max && *count_.max < count_.min) return rules_.never();
    if (schema_.unique && !(count_.max && *count_.max <= 1)) {
      if (!schema_.contains.empty()) {
        throw schema_error(*schema_.unique->source, "uniqueItems beside contains is not supported");
      }
      if (auto unlike = compile_unlike()) return *unlike;
    }
    if (!schema_.contains.empty()) return compile_containing();
    return compile_plain();
  }

 private:
  ExprId item(int64_t index) {
    return context_.value(SchemaCases::item_at(schema_, static_cast<size_t>(std::min(index, prefix_))));
  }

  ExprId compile_plain() {
    const auto above = [](int64_t count, int64_t taken) { return std::max<int64_t>(0, count - taken); };
    const auto max_above = [&](int64_t taken) {
      return count_.max ? std::optional(above(*count_.max, taken)) : std::nullopt;
    };
    const ExprId last = item(prefix_);
    const std::string name = cat("items of ", schema_.source->place());
    const ExprId more = rules_.outline(name, rules_.sequence({pieces_.mark(','), last}));
    ExprId rest = rules_.empty();
    if (prefix_ > 0) {
      rest = rules_.repeat(more, above(count_.min, prefix_), max_above(prefix_));
    } else if (count_.max != 0) {
      rest = rules_.sequence({last, rules_.repeat(more, above(count_.min, 1), max_above(1))});
      if (count_.min == 0) rest = rules_.optional(rest);
    }
    // From the last item of the prefix to the first: each may be where the list ends, once there are enough.
    for (int64_t before = prefix_; before-- > 0;) {
      if (count_.max && before >= *count_.max) {
        rest = rules_.empty();
        continue;
      }
      const ExprId comma = before > 0 ? pieces_.mark(',') : rules_.empty();
      rest = rules_.sequence({comma, item(before), rest});
      if (before >= count_.min) rest = rules_.optional(rest);
      rest = rules_.outline(name, rest);
    }
    return pieces_.enclosed('[', rest, ']');
  }

  // One rule for each number of items so far, and of those that count for each contains.
  ExprId compile_containing() {
    const auto& contains = schema_.contains;
    if (contains.size() > kMaxContains) {
      throw schema_error(*contains[0]->source,
                         cat("more than ", kMaxContains, " times contains together is not supported"));
    }
    int64_t last = std::max({prefix_, count_.min, int64_t{1}});
    for (const SchemaNode* node : contains) last = std::max({last, node->from, node->to.value_or(0)});
    last = count_.max.value_or(last);
    struct Key {
      int64_t index = 0;
      std::vector<int64_t> found;
      auto operator<=>(const Key&) const = default;
    };
    std::map<Key, RuleId> known;
    std::vector<Key> open;
    const auto rule_for = [&](const Key& key) {
      const auto [entry, is_new] = known.try_emplace(key, 0);
      if (is_new) {
        if (known.size() > kMaxStates) {
          throw schema_error(*contains[0]->source, "contains with counts as large as these is not supported");
        }
        entry->second = rules_.add_rule(cat("items of ", schema_.source->place()));
        open.push_back(key);
      }
      return entry->second;
    };
    const RuleId first = rule_for({0, std::vector<int64_t>(contains.size(), 0)});
    while (!open.empty()) {
      const Key key = open.back();
      open.pop_back();
      std::vector<ExprId> options;
      bool is_enough = key.index >= count_.min;
      for (size_t j = 0; j < contains.size(); ++j) is_enough &= key.found[j] >= contains[j]->count.min;
      if (is_enough) options.push_back(rules_.empty());
      for (size_t chosen = 0; chosen < size_t{1} << contains.size() && (!count_.max || key.index < *count_.max);
           ++chosen) {
        Key next{std::min(key.index + 1, last), key.found};
        std::vector<Term> terms = SchemaCases::item_at(schema_, static_cast<size_t>(std::min(key.index, prefix_)));
        bool is_possible = true;
        for (size_t j = 0; j < contains.size() && is_possible; ++j) {
          const SchemaNode& node = *contains[j];
          // Without `to`, `last` stands for all that follow.
          const bool counts = key.index >= node.from && (!node.to || key.index < *node.to);
          const bool is_chosen = chosen >> j & 1;
          if (is_chosen) {
            is_possible = counts && (node.count.max ? key.found[j] < *node.count.max : key.found[j] < node.count.min);
            terms.push_back(node.terms[0]);
            ++next.found[j];
          } else if (counts && node.count.max) {
            terms.push_back(opposite(node.terms[0]));
          }
        }
        if (!is_possible) continue;
        const ExprId comma = key.index > 0 ? pieces_.mark(',') : rules_.empty();
        options.push_back(rules_.sequence({comma, context_.value(terms), rules_.call(rule_for(next))}));
      }
      rules_.define(known.at(key), rules_.choice(std::move(options)));
    }
    return pieces_.enclosed('[', rules_.call(first), ']');
  }

  // Empty when the items cannot be alike anyway.
  std::optional<ExprId> compile_unlike() {
    const auto items_at = [&](int64_t index) {
      return SchemaCases::item_at(schema_, static_cast<size_t>(std::min(index, prefix_)));
    };
    std::vector<Conjunction> conjunctions;
    for (int64_t i = 0; i <= prefix_; ++i) conjunctions.push_back(context_.cases.conjunction(items_at(i)));
    const int64_t longest =
        std::min(count_.max.value_or(INT64_MAX), conjunctions.back().is_false ? prefix_ : INT64_MAX);
    if (longest <= 1) return std::nullopt;
    if (prefix_ == 0) {
      if (const auto values = context_.cases.finite_values(conjunctions[0])) return unlike_values(*values);
    }
    const Error error =
        schema_error(*schema_.unique->source,
                     "uniqueItems is supported where items are listed values, all by one list, or no two "
                     "of them can be equal");
    if (longest > kMaxPairs) throw error;
    for (int64_t i = 0; i < longest; ++i) {
      for (int64_t j = i + 1; j < longest; ++j) {
        std::vector<Term> both = items_at(i);
        for (const Term term : items_at(j)) both.push_back(term);
        if (!context_.cases.is_empty(context_.cases.conjunction(both))) throw error;
      }
    }
    return std::nullopt;
  }

  // Each value is written at most once, which marks see to: all calls are made by one rule.
  ExprId unlike_values(const std::vector<const Json*>& values) {
    const auto size = static_cast<int64_t>(values.size());
    if (values.size() > kMaxUnlike) {
      throw schema_error(*schema_.unique->source, cat("uniqueItems is supported for at most ", kMaxUnlike, " values"));
    }
    if (count_.min > size) return rules_.never();
    const int64_t max = std::min(count_.max.value_or(size), size);
    if (max == 0) return pieces_.enclosed('[', rules_.empty(), ']');
    std::vector<RuleId> firsts, others;
    for (const Json* value : values) {
      const ExprId written = context_.literal(*value);
      firsts.push_back(rules_.add_rule("item"));
      rules_.define(firsts.back(), written);
      others.push_back(rules_.add_rule("item"));
      rules_.define(others.back(), rules_.sequence({pieces_.mark(','), written}));
    }
    const auto one_of = [&](const std::vector<RuleId>& called) {
      std::vector<ExprId> options;
      for (uint32_t i = 0; i < called.size(); ++i) options.push_back(rules_.call_once(called[i], {i}));
      return rules_.choice(std::move(options));
    };
    // Where every value may have been written, they come to an end by themselves.
    ExprId rest = max == size ? rules_.repeat(one_of(others), 0, std::nullopt) : rules_.empty();
    for (int64_t i = max == size ? std::max<int64_t>(count_.min, 1) : max; i-- > 0;) {
      rest = rules_.sequence({one_of(i == 0 ? firsts : others), rest});
      if (i >= count_.min) rest = rules_.optional(rest);
    }
    return rules_.outline(cat("items of ", schema_.source->place()), pieces_.enclosed('[', rest, ']'));
  }

  const MergedSchema& schema_;
  const SchemaContext& context_;
  RuleSet& rules_;
  JsonPieces& pieces_;
  int64_t prefix_;
  Count count_;
};

}  // namespace

ExprId compile_array(const MergedSchema& schema, const SchemaContext& context) {
  return ArrayCompiler(schema, context).compile();
}

}  // namespace wick::grammar
