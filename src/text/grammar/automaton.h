#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "text/grammar/rule_set.h"

namespace wick::grammar {

struct ByteEdge {
  ByteRange bytes;
  uint32_t target = 0;  // position
};

struct CallEdge {
  uint32_t rule = 0;
  uint32_t return_to = 0;  // position
  bool is_tail = false;    // nothing follows in the calling rule, so there is nothing to return to
};

// Where a match can stand inside a rule, with all that can happen next: no step is free.
struct Position {
  uint32_t edges_begin = 0, edges_end = 0;
  uint32_t calls_begin = 0, calls_end = 0;
  bool can_end = false;  // the rule may be complete here
};

// A pushdown automaton over bytes: one finite automaton per rule, joined by calls. Immutable.
// Calls never form a cycle without a byte in between; a rule that matches the empty text is also skipped by the
// positions that call it, so the start of a rule never counts as complete.
struct Automaton {
  std::vector<Position> positions;
  std::vector<ByteEdge> edges;
  std::vector<CallEdge> calls;
  std::vector<uint32_t> rule_start;  // position
  std::vector<uint32_t> rule_rank;   // callers before the rules they call ahead of their first byte
  uint32_t root = 0;
  bool matches_empty = false;
  std::array<uint8_t, 256> byte_class{};  // bytes of one class are never told apart
  std::vector<uint8_t> class_byte;        // one byte of each class

  std::span<const ByteEdge> edges_of(const Position& position) const {
    return {edges.data() + position.edges_begin, edges.data() + position.edges_end};
  }
  std::span<const CallEdge> calls_of(const Position& position) const {
    return {calls.data() + position.calls_begin, calls.data() + position.calls_end};
  }
};

// Throws Error(kInvalidArgument) when the rules are too large, left-recursive, or match nothing.
Automaton compile_automaton(const RuleSet& rules, RuleId root);

}  // namespace wick::grammar
