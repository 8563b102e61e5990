#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "grammar/rule_set.h"

namespace wick::grammar {

// Calls that were made, as bits; without zeros at the end.
using MarkSet = std::vector<uint64_t>;

inline void add_mark(MarkSet& set, uint32_t mark) {
  if (set.size() <= mark / 64) set.resize(mark / 64 + 1, 0);
  set[mark / 64] |= uint64_t{1} << (mark % 64);
}
inline void add_marks(MarkSet& set, const MarkSet& more) {
  set.resize(std::max(set.size(), more.size()), 0);
  for (size_t i = 0; i < more.size(); ++i) set[i] |= more[i];
}
inline bool share_marks(const MarkSet& a, const MarkSet& b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i] & b[i]) return true;
  }
  return false;
}
inline bool has_marks(const MarkSet& set, const MarkSet& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] & ~(i < set.size() ? set[i] : 0)) return false;
  }
  return true;
}

struct ByteEdge {
  ByteRange bytes;
  uint32_t target = 0;  // position
};

struct CallEdge {
  uint32_t rule = 0;
  uint32_t return_to = 0;       // position
  bool is_tail = false;         // nothing follows in the calling rule, so there is nothing to return to
  uint32_t marks = UINT32_MAX;  // else, of `mark_sets`: only if the caller's frame has none of them yet
};

// Where a match can stand inside a rule, with all that can happen next: no step is free.
struct Position {
  uint32_t edges_begin = 0, edges_end = 0;
  uint32_t calls_begin = 0, calls_end = 0;
  bool can_end = false;         // the rule may be complete here
  uint32_t needs = UINT32_MAX;  // else, of `mark_sets`: only if the frame has them all
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
  std::vector<MarkSet> mark_sets;
  uint32_t root = 0;
  bool matches_empty = false;
  std::array<uint8_t, 256> byte_class{};  // bytes of one class lead to the same states
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
