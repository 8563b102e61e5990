#include "grammar/schema/schema_string.h"

#include <algorithm>

#include "grammar/schema/text_rules.h"

namespace wick::grammar {
namespace {

struct Lengths {
  int64_t min = 0;
  std::optional<int64_t> max;  // empty: no limit
};

constexpr int64_t kLong = int64_t{1} << 40;  // lengths are not counted beyond this

Lengths lengths_of(const RuleSet& chars, ExprId id) {
  const Expr& expr = chars.expr(id);
  switch (expr.kind) {
    case ExprKind::kChars: return {1, 1};
    case ExprKind::kSequence: {
      Lengths sum{0, 0};
      for (const ExprId part : expr.children) {
        const Lengths lengths = lengths_of(chars, part);
        sum.min = std::min(kLong, sum.min + lengths.min);
        sum.max = sum.max && lengths.max && *sum.max + *lengths.max < kLong ? std::optional(*sum.max + *lengths.max)
                                                                            : std::nullopt;
      }
      return sum;
    }
    case ExprKind::kChoice: {
      Lengths all = lengths_of(chars, expr.children[0]);
      for (const ExprId option : expr.children) {
        const Lengths lengths = lengths_of(chars, option);
        all.min = std::min(all.min, lengths.min);
        all.max = all.max && lengths.max ? std::optional(std::max(*all.max, *lengths.max)) : std::nullopt;
      }
      return all;
    }
    case ExprKind::kRepeat: {
      const Lengths one = lengths_of(chars, expr.children[0]);
      Lengths all{std::min(kLong, one.min * std::min(expr.min, kLong >> 20)), std::nullopt};
      if (one.min > kLong >> 20) all.min = kLong;
      if (expr.max && one.max && *one.max < kLong >> 20) all.max = *one.max * *expr.max;
      return all;
    }
    default: return {0, 0};
  }
}

// The same expression, with characters as they stand inside a JSON string.
ExprId to_json(const RuleSet& chars, ExprId id, RuleSet& rules, JsonPieces& pieces) {
  const Expr& expr = chars.expr(id);
  std::vector<ExprId> children;
  for (const ExprId child : expr.children) children.push_back(to_json(chars, child, rules, pieces));
  switch (expr.kind) {
    case ExprKind::kChars: return pieces.plain_chars(expr.chars);
    case ExprKind::kSequence: return rules.sequence(std::move(children));
    case ExprKind::kChoice: return rules.choice(std::move(children));
    case ExprKind::kRepeat: return rules.repeat(children[0], expr.min, expr.max);
    case ExprKind::kEmpty: return rules.empty();
    default: return rules.never();
  }
}

// A pattern that is one repeated character, with its counts narrowed to the lengths.
std::optional<ExprId> repeat_within(const RuleSet& chars, ExprId id, const Count& length, RuleSet& rules,
                                    JsonPieces& pieces) {
  const Expr& expr = chars.expr(id);
  if (expr.kind != ExprKind::kRepeat || chars.expr(expr.children[0]).kind != ExprKind::kChars) return std::nullopt;
  std::optional<int64_t> max = expr.max;
  if (length.max) max = std::min(*length.max, max.value_or(*length.max));
  return rules.repeat(pieces.plain_chars(chars.expr(expr.children[0]).chars), std::max(expr.min, length.min), max);
}

}  // namespace

ExprId compile_string(const MergedSchema& schema, SchemaTexts& texts, RuleSet& rules, JsonPieces& pieces) {
  const ExprId quote = rules.bytes("\"");
  const Count& length = schema.length;
  std::vector<std::string_view> excluded;
  for (const Json* value : schema.excluded) {
    if (value->is_text()) excluded.push_back(value->as_text());
  }
  std::vector<MergedSchema::Text> parts;
  for (const auto& text : schema.texts) {
    if (text.node->kind == NodeKind::kTexts || texts.pattern_of(*text.node)) {
      parts.push_back(text);
    } else if (text.is_opposite) {
      return rules.never();  // nothing fails a format that says nothing
    }
  }
  if (parts.empty() && excluded.empty()) {
    if (length.min == 0 && !length.max) return pieces.string();
    return rules.sequence({quote, rules.repeat(pieces.character(), length.min, length.max), quote});
  }
  if (parts.size() == 1 && excluded.empty() && !parts[0].is_opposite && parts[0].node->kind != NodeKind::kTexts) {
    if (const auto plain = texts.pattern_of(*parts[0].node)->plain) {
      const Lengths lengths = lengths_of(texts.chars(), *plain);
      if (lengths.min >= length.min && (!length.max || (lengths.max && *lengths.max <= *length.max))) {
        return rules.sequence({quote, to_json(texts.chars(), *plain, rules, pieces), quote});
      }
      if (const auto repeat = repeat_within(texts.chars(), *plain, length, rules, pieces)) {
        return rules.sequence({quote, *repeat, quote});
      }
    }
  }
  TextProduct product(schema.source->place());
  std::vector<bool> is_opposite;
  for (const auto& [node, is_not] : parts) {
    product.add(*texts.machine(*node, is_not), is_not ? TextProduct::Use::kUnwanted : TextProduct::Use::kWanted);
    is_opposite.push_back(is_not);
  }
  TextList list(excluded);
  if (!excluded.empty()) {
    product.add(list, TextProduct::Use::kUnwanted);
    is_opposite.push_back(true);
  }
  const auto finish = [&](int state) {
    for (size_t i = 0; i < is_opposite.size(); ++i) {
      if (product.accepts(state, i) == is_opposite[i]) return rules.never();
    }
    return quote;
  };
  const auto chars = [&](const CodepointSet& set) { return pieces.plain_chars(set); };
  return rules.sequence({quote, compile_product(product, length, schema.source->place(), rules, chars, finish)});
}

}  // namespace wick::grammar
