#include "text/grammar/automaton.h"

#include <algorithm>
#include <bitset>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "text/grammar/frames.h"
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
    for (const auto& marks : nfa_.required_marks) {
      needs_.push_back(marks.empty() ? kNone : static_cast<uint32_t>(automaton_.required_marks.size()));
      if (marks.empty()) continue;
      MarkSet& set = automaton_.required_marks.emplace_back();
      for (const uint32_t mark : marks) add_mark(set, mark);
    }
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
      if (node == nfa_.rule_end[nfa_.node_rule[node]]) {
        result.can_end = true;
        result.needs = needs_[nfa_.node_rule[node]];
      }
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
        automaton_.calls.push_back({edge.rule, position_of(edge.target), false, edge.mark});
        if (nullable_[edge.rule]) work_.push_back(edge.target);
        break;
    }
  }

  void mark_tail_calls() {
    for (CallEdge& call : automaton_.calls) {
      const Position& after = automaton_.positions[call.return_to];
      call.is_tail = call.mark == kNone && after.needs == kNone && after.can_end &&
                     after.edges_begin == after.edges_end && after.calls_begin == after.calls_end;
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
  std::vector<uint32_t> needs_;  // per rule
  size_t steps_ = 0;
  uint32_t next_ = 0;
};

// Positions from which the same can happen become one, as do then those that lead to them. A state is then more often
// one that was met before: the start of a loop is the same as its later rounds.
class Merger {
 public:
  explicit Merger(Automaton& automaton) : automaton_(automaton), kept_(automaton.positions.size()) {}

  void run() {
    for (int round = 0; round < kMaxRounds && merge_equal(); ++round) redirect();
  }

 private:
  static constexpr int kMaxRounds = 6;  // the ends of long literals are not worth more

  // Whether any two were equal.
  bool merge_equal() {
    std::unordered_multimap<uint64_t, uint32_t> by_hash;
    by_hash.reserve(kept_.size());
    bool any = false;
    for (uint32_t i = 0; i < kept_.size(); ++i) {
      kept_[i] = i;
      sort_edges(automaton_.positions[i]);
      const uint64_t hash = hash_of(automaton_.positions[i]);
      const auto [begin, end] = by_hash.equal_range(hash);
      const auto same = std::find_if(begin, end, [&](const auto& entry) { return is_equal(entry.second, i); });
      if (same == end) {
        by_hash.emplace(hash, i);
      } else {
        kept_[i] = same->second;
        // Equal ones share their edges, so that they stay equal and are not counted again.
        any |= automaton_.positions[i].edges_begin != automaton_.positions[kept_[i]].edges_begin ||
               automaton_.positions[i].calls_begin != automaton_.positions[kept_[i]].calls_begin;
        automaton_.positions[i] = automaton_.positions[kept_[i]];
      }
    }
    return any;
  }

  // The order means nothing, but equal positions must have the same.
  void sort_edges(const Position& position) {
    std::sort(
        automaton_.edges.begin() + position.edges_begin, automaton_.edges.begin() + position.edges_end,
        [](const ByteEdge& a, const ByteEdge& b) { return std::tie(a.bytes, a.target) < std::tie(b.bytes, b.target); });
    std::sort(automaton_.calls.begin() + position.calls_begin, automaton_.calls.begin() + position.calls_end,
              [](const CallEdge& a, const CallEdge& b) {
                return std::tie(a.rule, a.return_to, a.mark) < std::tie(b.rule, b.return_to, b.mark);
              });
  }

  void redirect() {
    for (ByteEdge& edge : automaton_.edges) edge.target = kept_[edge.target];
    for (CallEdge& call : automaton_.calls) call.return_to = kept_[call.return_to];
    for (uint32_t& start : automaton_.rule_start) {
      if (start != kNone) start = kept_[start];
    }
  }

  uint64_t hash_of(const Position& position) const {
    uint64_t hash = position.can_end;
    for (const ByteEdge& edge : automaton_.edges_of(position)) {
      hash = mix_hash(hash, uint64_t{edge.target} << 16 | uint64_t{edge.bytes.first} << 8 | edge.bytes.last);
    }
    for (const CallEdge& call : automaton_.calls_of(position)) {
      hash = mix_hash(hash, (uint64_t{call.rule} << 32 | call.return_to) ^ (uint64_t{call.mark} << 20));
    }
    return hash;
  }

  bool is_equal(uint32_t a, uint32_t b) const {
    const Position &left = automaton_.positions[a], &right = automaton_.positions[b];
    const auto edges_a = automaton_.edges_of(left), edges_b = automaton_.edges_of(right);
    const auto calls_a = automaton_.calls_of(left), calls_b = automaton_.calls_of(right);
    return left.can_end == right.can_end && left.needs == right.needs &&
           std::equal(
               edges_a.begin(), edges_a.end(), edges_b.begin(), edges_b.end(),
               [](const ByteEdge& x, const ByteEdge& y) { return x.target == y.target && x.bytes == y.bytes; }) &&
           std::equal(calls_a.begin(), calls_a.end(), calls_b.begin(), calls_b.end(),
                      [](const CallEdge& x, const CallEdge& y) {
                        return x.rule == y.rule && x.return_to == y.return_to && x.mark == y.mark;
                      });
  }

  Automaton& automaton_;
  std::vector<uint32_t> kept_;  // per position, the one that stands for it
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
  Merger(automaton).run();
  find_byte_classes(automaton);
  return automaton;
}

}  // namespace wick::grammar
