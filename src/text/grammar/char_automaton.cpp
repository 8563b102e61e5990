#include "text/grammar/char_automaton.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "text/grammar/text_reader.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxStates = 20000;

}  // namespace

CharAutomaton::CharAutomaton(const RuleSet& rules, ExprId expr, std::string_view place) : rules_(rules), place_(place) {
  const uint32_t start = add_state();
  end_ = add_state();
  build(expr, start, end_);
  start_ = {start};
  close(start_);
}

uint32_t CharAutomaton::add_state() {
  if (states_.size() >= kMaxStates) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(place_, ": the pattern is too large: more than ", kMaxStates, " states"));
  }
  states_.emplace_back();
  return static_cast<uint32_t>(states_.size() - 1);
}

void CharAutomaton::build(ExprId id, uint32_t from, uint32_t to) {
  const Expr& expr = rules_.expr(id);
  switch (expr.kind) {
    case ExprKind::kEmpty: states_[from].free.push_back(to); break;
    case ExprKind::kChars: states_[from].edges.push_back({&expr.chars, to}); break;
    case ExprKind::kChoice:
      for (const ExprId option : expr.children) build(option, from, to);
      break;
    case ExprKind::kSequence:
      for (const ExprId part : expr.children) {
        const uint32_t next = add_state();
        build(part, from, next);
        from = next;
      }
      states_[from].free.push_back(to);
      break;
    case ExprKind::kRepeat: {
      for (int64_t i = 0; i < expr.min; ++i) {
        const uint32_t next = add_state();
        build(expr.children[0], from, next);
        from = next;
      }
      if (!expr.max) {
        const uint32_t loop = add_state();
        states_[from].free.push_back(loop);
        build(expr.children[0], loop, loop);
        states_[loop].free.push_back(to);
        break;
      }
      for (int64_t i = expr.min; i < *expr.max; ++i) {
        states_[from].free.push_back(to);
        const uint32_t next = add_state();
        build(expr.children[0], from, next);
        from = next;
      }
      states_[from].free.push_back(to);
      break;
    }
    case ExprKind::kNever:
    case ExprKind::kBytes:
    case ExprKind::kCall: break;
  }
}

void CharAutomaton::close(StateSet& states) const {
  std::vector<bool> seen(states_.size(), false);
  for (const uint32_t state : states) seen[state] = true;
  for (size_t i = 0; i < states.size(); ++i) {
    for (const uint32_t target : states_[states[i]].free) {
      if (seen[target]) continue;
      seen[target] = true;
      states.push_back(target);
    }
  }
  std::sort(states.begin(), states.end());
}

CharAutomaton::StateSet CharAutomaton::next(const StateSet& from, uint32_t codepoint) const {
  StateSet reached;
  for (const uint32_t state : from) {
    for (const Edge& edge : states_[state].edges) {
      if (edge.chars->contains(codepoint)) reached.push_back(edge.target);
    }
  }
  std::sort(reached.begin(), reached.end());
  reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
  close(reached);
  return reached;
}

bool CharAutomaton::is_end(const StateSet& states) const {
  return std::binary_search(states.begin(), states.end(), end_);
}

bool CharAutomaton::matches(std::string_view utf8) const {
  StateSet states = start_;
  for (const uint32_t codepoint : codepoints_of(utf8)) states = next(states, codepoint);
  return is_end(states);
}

std::vector<uint32_t> codepoints_of(std::string_view utf8) {
  std::vector<uint32_t> codepoints;
  for (TextReader reader(utf8, "text"); !reader.at_end();) codepoints.push_back(reader.take_codepoint());
  return codepoints;
}

}  // namespace wick::grammar
