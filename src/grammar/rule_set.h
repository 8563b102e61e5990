#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/automaton/codepoint_set.h"

namespace wick::grammar {

using ExprId = uint32_t;
using RuleId = uint32_t;

enum class ExprKind : uint8_t { kNever, kEmpty, kBytes, kChars, kSequence, kChoice, kRepeat, kCall, kGraph, kAssert };

// What a regular expression asks of a place in a text. Only patterns have them, before they become rules.
enum class Assertion : uint8_t { kStart, kEnd, kWordBoundary, kNoWordBoundary, kAhead, kNotAhead, kBehind, kNotBehind };

// A finite automaton: its first state is where it begins, and what a state ends with leads out of it.
struct ExprGraph {
  struct Step {
    ExprId expr = 0;
    uint32_t target = 0;
  };
  struct State {
    std::vector<Step> steps;
    std::optional<ExprId> end;
  };
  std::vector<State> states;
};

struct Expr {
  ExprKind kind = ExprKind::kEmpty;
  std::string bytes;             // kBytes
  CodepointSet chars;            // kChars
  std::vector<ExprId> children;  // kSequence, kChoice; kRepeat has one, as has kAssert that looks ahead or behind
  int64_t min = 0;               // kRepeat
  std::optional<int64_t> max;    // kRepeat; empty: no limit
  RuleId rule = 0;               // kCall
  std::vector<uint32_t> marks;   // kCall: see RuleSet::call_once
  Assertion assertion = Assertion::kStart;  // kAssert
  std::shared_ptr<const ExprGraph> graph;   // kGraph
};

// Rules as written, before they become an automaton. Every notation (GBNF, JSON Schema) is translated into one of
// these. Making an expression simplifies it where that is obvious.
class RuleSet {
 public:
  RuleSet() : exprs_{{.kind = ExprKind::kNever}, {.kind = ExprKind::kEmpty}} {}

  ExprId never() const { return 0; }
  ExprId empty() const { return 1; }
  ExprId bytes(std::string_view text);
  ExprId chars(CodepointSet set);
  ExprId sequence(std::vector<ExprId> parts);
  ExprId choice(std::vector<ExprId> options);
  ExprId repeat(ExprId part, int64_t min, std::optional<int64_t> max);
  ExprId optional(ExprId part) { return repeat(part, 0, 1); }
  ExprId call(RuleId rule);
  // The same, at most once per mark while the calling rule is matched: what members of an object and unlike items of a
  // list are made of. A call with several marks needs all of them to be free.
  ExprId call_once(RuleId rule, std::vector<uint32_t> marks);
  // The rule ends only when calls with all of these marks have been made.
  void require_marks(RuleId rule, std::vector<uint32_t> marks) { rules_[rule].required_marks = std::move(marks); }
  const std::vector<uint32_t>& required_marks(RuleId rule) const { return rules_[rule].required_marks; }
  ExprId graph(ExprGraph graph);
  ExprId assertion(Assertion kind, std::vector<ExprId> look = {});

  // The name is for messages. A rule matches nothing until it is defined.
  RuleId add_rule(std::string_view name);
  void define(RuleId rule, ExprId body) { rules_[rule].body = body; }
  bool is_defined(RuleId rule) const { return rules_[rule].body.has_value(); }
  // A new rule and a call of it: what is used more than once is then compiled once.
  ExprId outline(std::string_view name, ExprId body);

  size_t rule_count() const { return rules_.size(); }
  const std::string& name(RuleId rule) const { return names_[rules_[rule].name]; }
  std::optional<ExprId> body(RuleId rule) const { return rules_[rule].body; }
  const Expr& expr(ExprId id) const { return exprs_[id]; }

 private:
  struct Rule {
    size_t name = 0;
    std::optional<ExprId> body;
    std::vector<uint32_t> required_marks;
  };
  ExprId add(Expr expr);

  std::deque<Expr> exprs_;
  std::vector<Rule> rules_;
  std::deque<std::string> names_;
};

}  // namespace wick::grammar
