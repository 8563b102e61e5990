#include "text/grammar/automaton.h"

#include <algorithm>
#include <bitset>

#include "base/error.h"
#include "base/text.h"
#include "text/grammar/nfa.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxEdges = size_t{1} << 20;

// Replaces free steps by their consequences: every node that a byte, a return or a call leads to becomes a position.
class Flattener {
 public:
  Flattener(const Nfa& nfa, const std::vector<bool>& nullable)
      : nfa_(nfa), nullable_(nullable), position_of_(nfa.node_count(), kNone), seen_(nfa.node_count(), kNone) {}

  Automaton run(RuleId root) {
    automaton_.rule_start.assign(nfa_.rule_count(), kNone);
    automaton_.root = root;
    automaton_.matches_empty = nullable_[root];
    automaton_.rule_start[root] = position_of(nfa_.rule_start[root]);
    while (next_ < nodes_.size()) {
      expand(next_);
      ++next_;
    }
    mark_tail_calls();
    return std::move(automaton_);
  }

 private:
  uint32_t position_of(uint32_t node) {
    uint32_t& position = position_of_[node];
    if (position == kNone) {
      position = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back(node);
      automaton_.positions.emplace_back();
    }
    return position;
  }

  void expand(uint32_t position) {
    Position result;
    result.edges_begin = static_cast<uint32_t>(automaton_.edges.size());
    result.calls_begin = static_cast<uint32_t>(automaton_.calls.size());
    work_.push_back(nodes_[position]);
    while (!work_.empty()) {
      const uint32_t node = work_.back();
      work_.pop_back();
      if (seen_[node] == position) continue;
      seen_[node] = position;
      if (++steps_ > 4 * kMaxEdges) throw too_large();
      if (node == nfa_.rule_end[nfa_.node_rule[node]]) result.can_end = true;
      nfa_.for_each_edge(node, [&](const NfaEdge& edge) { follow(edge); });
    }
    if (automaton_.edges.size() > kMaxEdges || automaton_.calls.size() > kMaxEdges) throw too_large();
    result.edges_end = static_cast<uint32_t>(automaton_.edges.size());
    result.calls_end = static_cast<uint32_t>(automaton_.calls.size());
    automaton_.positions[position] = result;
  }

  void follow(const NfaEdge& edge) {
    switch (edge.kind) {
      case EdgeKind::kEpsilon: work_.push_back(edge.target); break;
      case EdgeKind::kByte: automaton_.edges.push_back({edge.bytes, position_of(edge.target)}); break;
      case EdgeKind::kCall:
        automaton_.rule_start[edge.rule] = position_of(nfa_.rule_start[edge.rule]);
        automaton_.calls.push_back({edge.rule, position_of(edge.target), false});
        if (nullable_[edge.rule]) work_.push_back(edge.target);
        break;
    }
  }

  void mark_tail_calls() {
    for (CallEdge& call : automaton_.calls) {
      const Position& after = automaton_.positions[call.return_to];
      call.is_tail = after.can_end && after.edges_begin == after.edges_end && after.calls_begin == after.calls_end;
    }
  }

  static Error too_large() {
    return {ErrorCode::kInvalidArgument, "grammar: too large: too many ways to go on from one place"};
  }

  const Nfa& nfa_;
  const std::vector<bool>& nullable_;
  Automaton automaton_;
  std::vector<uint32_t> nodes_;  // of each position
  std::vector<uint32_t> position_of_;
  std::vector<uint32_t> seen_;  // the last position whose expansion saw this node
  std::vector<uint32_t> work_;
  size_t steps_ = 0;
  uint32_t next_ = 0;
};

void find_byte_classes(Automaton& automaton) {
  std::bitset<257> starts;  // bytes at which some edge begins or has ended
  starts.set(0);
  for (const ByteEdge& edge : automaton.edges) {
    starts.set(edge.bytes.first);
    starts.set(size_t{edge.bytes.last} + 1);
  }
  for (int byte = 0; byte < 256; ++byte) {
    if (starts[byte]) automaton.class_byte.push_back(static_cast<uint8_t>(byte));
    automaton.byte_class[byte] = static_cast<uint8_t>(automaton.class_byte.size() - 1);
  }
}

}  // namespace

Automaton compile_automaton(const RuleSet& rules, RuleId root) {
  Nfa nfa = build_nfa(rules);
  remove_dead_ends(nfa, root);
  const std::vector<bool> nullable = nullable_rules(nfa);
  std::vector<uint32_t> ranks = left_call_ranks(nfa, nullable);
  Automaton automaton = Flattener(nfa, nullable).run(root);
  automaton.rule_rank = std::move(ranks);
  find_byte_classes(automaton);
  return automaton;
}

}  // namespace wick::grammar
