#include "grammar/rule_set.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxExpressions = size_t{1} << 19;

}  // namespace

ExprId RuleSet::add(Expr expr) {
  if (exprs_.size() >= kMaxExpressions) {
    throw Error(ErrorCode::kInvalidArgument, cat("grammar: more than ", kMaxExpressions, " expressions"));
  }
  exprs_.push_back(std::move(expr));
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId RuleSet::bytes(std::string_view text) {
  if (text.empty()) return empty();
  return add({.kind = ExprKind::kBytes, .bytes = std::string(text)});
}

ExprId RuleSet::chars(CodepointSet set) {
  if (set.empty()) return never();
  return add({.kind = ExprKind::kChars, .chars = std::move(set)});
}

ExprId RuleSet::sequence(std::vector<ExprId> parts) {
  const auto is = [&](ExprId id, ExprKind kind) { return exprs_[id].kind == kind; };
  if (std::any_of(parts.begin(), parts.end(), [&](ExprId id) { return is(id, ExprKind::kNever); })) return never();
  std::erase_if(parts, [&](ExprId id) { return is(id, ExprKind::kEmpty); });
  if (parts.empty()) return empty();
  if (parts.size() == 1) return parts[0];
  return add({.kind = ExprKind::kSequence, .children = std::move(parts)});
}

ExprId RuleSet::choice(std::vector<ExprId> options) {
  std::erase_if(options, [&](ExprId id) { return exprs_[id].kind == ExprKind::kNever; });
  if (options.empty()) return never();
  if (options.size() == 1) return options[0];
  return add({.kind = ExprKind::kChoice, .children = std::move(options)});
}

ExprId RuleSet::repeat(ExprId part, int64_t min, std::optional<int64_t> max) {
  if (max && *max < min) return never();
  if (max == 0 || exprs_[part].kind == ExprKind::kEmpty) return empty();
  if (exprs_[part].kind == ExprKind::kNever) return min == 0 ? empty() : part;
  if (min == 1 && max == 1) return part;
  return add({.kind = ExprKind::kRepeat, .children = {part}, .min = min, .max = max});
}

ExprId RuleSet::call(RuleId rule) { return add({.kind = ExprKind::kCall, .rule = rule}); }

ExprId RuleSet::call_once(RuleId rule, std::vector<uint32_t> marks) {
  return add({.kind = ExprKind::kCall, .rule = rule, .marks = std::move(marks)});
}

ExprId RuleSet::graph(ExprGraph graph) {
  return add({.kind = ExprKind::kGraph, .graph = std::make_shared<const ExprGraph>(std::move(graph))});
}

ExprId RuleSet::assertion(Assertion kind, std::vector<ExprId> look) {
  return add({.kind = ExprKind::kAssert, .children = std::move(look), .assertion = kind});
}

RuleId RuleSet::add_rule(std::string_view name) {
  if (names_.empty() || names_.back() != name) names_.emplace_back(name);
  rules_.push_back({names_.size() - 1, std::nullopt, {}});
  return static_cast<RuleId>(rules_.size() - 1);
}

ExprId RuleSet::outline(std::string_view name, ExprId body) {
  const RuleId rule = add_rule(name);
  define(rule, body);
  return call(rule);
}

}  // namespace wick::grammar
