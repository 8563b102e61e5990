#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grammar/rule_set.h"

namespace wick::grammar {

inline constexpr uint32_t kNone = UINT32_MAX;

enum class EdgeKind : uint8_t { kEpsilon, kByte, kCall };

struct NfaEdge {
  EdgeKind kind = EdgeKind::kEpsilon;
  ByteRange bytes;         // kByte
  uint32_t rule = 0;       // kCall
  uint32_t target = 0;     // for kCall: where to go on when the rule has matched
  uint32_t marks = kNone;  // for kCall: into mark_lists; see RuleSet::call_once
  uint32_t next = kNone;
};

// One automaton per rule, over bytes and calls of other rules. A node belongs to one rule. No edge leads into a rule's
// start or out of its end.
struct Nfa {
  std::vector<uint32_t> first_edge;  // per node; kNone ends the list
  std::vector<NfaEdge> edges;
  std::vector<uint32_t> node_rule;
  std::vector<uint32_t> rule_start, rule_end;
  std::vector<const std::string*> rule_names;         // of the rules this was made from
  std::vector<std::vector<uint32_t>> required_marks;  // per rule
  std::vector<std::vector<uint32_t>> mark_lists;

  size_t node_count() const { return first_edge.size(); }
  size_t rule_count() const { return rule_start.size(); }

  template <typename Visit>
  void for_each_edge(uint32_t node, const Visit& visit) const {
    for (uint32_t edge = first_edge[node]; edge != kNone; edge = edges[edge].next) visit(edges[edge]);
  }
};

// `rules` must outlive it. Throws Error(kInvalidArgument) when the automaton would be too large.
Nfa build_nfa(const RuleSet& rules);

// Per rule, whether it matches the empty text.
std::vector<bool> nullable_rules(const Nfa& nfa);

// Removes every edge from which no end can be reached, so that a partial match can always be completed. Throws
// Error(kInvalidArgument) when nothing is left of the rule `root`.
void remove_dead_ends(Nfa& nfa, RuleId root);

// Per rule a rank; a rule that calls another before its first byte has a lower rank than that one. Throws
// Error(kInvalidArgument) when a rule can call itself so (left recursion).
std::vector<uint32_t> left_call_ranks(const Nfa& nfa, const std::vector<bool>& nullable);

}  // namespace wick::grammar
