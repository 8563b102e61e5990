#include "grammar/automaton/automaton.h"

#include <algorithm>
#include <bitset>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "grammar/automaton/frames.h"
#include "grammar/automaton/nfa.h"

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
    const auto add_set = [&](const std::vector<uint32_t>& marks) {
      MarkSet& set = automaton_.mark_sets.emplace_back();
      for (const uint32_t mark : marks) add_mark(set, mark);
    };
    for (const auto& marks : nfa_.mark_lists) add_set(marks);  // edges have the same numbers
    for (const auto& marks : nfa_.required_marks) {
      needs_.push_back(marks.empty() ? kNone : static_cast<uint32_t>(automaton_.mark_sets.size()));
      if (!marks.empty()) add_set(marks);
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
        automaton_.calls.push_back({edge.rule, position_of(edge.target), false, edge.marks});
        if (nullable_[edge.rule]) work_.push_back(edge.target);
        break;
    }
  }

  void mark_tail_calls() {
    for (CallEdge& call : automaton_.calls) {
      const Position& after = automaton_.positions[call.return_to];
      call.is_tail = call.marks == kNone && after.needs == kNone && after.can_end &&
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
  explicit Merger(Automaton& automaton)
      : automaton_(automaton), kept_(automaton.positions.size()), hashes_(kept_.size()), is_affected_(kept_.size()) {
    size_t slots = 64;
    while (slots < 2 * kept_.size()) slots *= 2;
    slots_.resize(slots, {0, kNone});
    for (uint32_t i = 0; i < kept_.size(); ++i) kept_[i] = i;
    list_sources();
  }

  void run() {
    std::vector<uint32_t> work = kept_, merged;
    for (int round = 0; round < kMaxRounds && !work.empty(); ++round) {
      merged.clear();
      for (const uint32_t position : work) {
        if (merge(position)) merged.push_back(position);
      }
      work.clear();
      for (const uint32_t gone : merged) {
        for (uint32_t i = sources_begin_[gone]; i < sources_begin_[gone + 1]; ++i) {
          const uint32_t source = sources_[i];
          if (is_affected_[source] || kept_[source] != source) continue;
          is_affected_[source] = true;
          work.push_back(source);
        }
      }
      for (const uint32_t position : work) is_affected_[position] = false;
    }
    redirect();
  }

 private:
  static constexpr int kMaxRounds = 8;  // the ends of long literals are not worth more

  // Per position, those with an edge or a call that leads to it.
  void list_sources() {
    sources_begin_.assign(kept_.size() + 2, 0);
    const auto for_each = [&](const auto& visit) {
      for (uint32_t i = 0; i < kept_.size(); ++i) {
        for (const ByteEdge& edge : automaton_.edges_of(automaton_.positions[i])) visit(i, edge.target);
        for (const CallEdge& call : automaton_.calls_of(automaton_.positions[i])) visit(i, call.return_to);
      }
    };
    for_each([&](uint32_t, uint32_t target) { ++sources_begin_[target + 2]; });
    for (size_t i = 2; i < sources_begin_.size(); ++i) sources_begin_[i] += sources_begin_[i - 1];
    sources_.resize(sources_begin_.back());
    for_each([&](uint32_t source, uint32_t target) { sources_[sources_begin_[target + 1]++] = source; });
  }

  // Whether an equal one stands for it from now on.
  bool merge(uint32_t position) {
    update_edges(automaton_.positions[position]);
    const uint64_t hash = hashes_[position] = hash_of(automaton_.positions[position]);
    size_t slot = hash & (slots_.size() - 1);
    size_t free = slots_.size();
    for (; slots_[slot].position != kNone; slot = (slot + 1) & (slots_.size() - 1)) {
      const auto [known_hash, known] = slots_[slot];
      const bool is_stale = hashes_[known] != known_hash || kept_[known] != known;
      if (is_stale || known == position) {
        if (free == slots_.size()) free = slot;
      } else if (known_hash == hash && is_equal(known, position)) {
        kept_[position] = known;
        automaton_.positions[position] = automaton_.positions[known];
        return true;
      }
    }
    slots_[free == slots_.size() ? slot : free] = {hash, position};
    return false;
  }

  // The order means nothing, but equal positions must have the same.
  void update_edges(const Position& position) {
    const auto edges = automaton_.edges.begin();
    for (uint32_t i = position.edges_begin; i < position.edges_end; ++i) {
      automaton_.edges[i].target = kept(automaton_.edges[i].target);
    }
    std::sort(edges + position.edges_begin, edges + position.edges_end, [](const ByteEdge& a, const ByteEdge& b) {
      return std::tie(a.bytes, a.target) < std::tie(b.bytes, b.target);
    });
    for (uint32_t i = position.calls_begin; i < position.calls_end; ++i) {
      automaton_.calls[i].return_to = kept(automaton_.calls[i].return_to);
    }
    std::sort(automaton_.calls.begin() + position.calls_begin, automaton_.calls.begin() + position.calls_end,
              [](const CallEdge& a, const CallEdge& b) {
                return std::tie(a.rule, a.return_to, a.marks) < std::tie(b.rule, b.return_to, b.marks);
              });
  }

  // What stands for a position may have been merged itself.
  uint32_t kept(uint32_t position) {
    while (kept_[position] != position) position = kept_[position] = kept_[kept_[position]];
    return position;
  }

  void redirect() {
    for (ByteEdge& edge : automaton_.edges) edge.target = kept(edge.target);
    for (CallEdge& call : automaton_.calls) call.return_to = kept(call.return_to);
    for (uint32_t& start : automaton_.rule_start) {
      if (start != kNone) start = kept(start);
    }
  }

  uint64_t hash_of(const Position& position) const {
    uint64_t hash = position.can_end;
    for (const ByteEdge& edge : automaton_.edges_of(position)) {
      hash = mix_hash(hash, uint64_t{edge.target} << 16 | uint64_t{edge.bytes.first} << 8 | edge.bytes.last);
    }
    for (const CallEdge& call : automaton_.calls_of(position)) {
      hash = mix_hash(hash, (uint64_t{call.rule} << 32 | call.return_to) ^ (uint64_t{call.marks} << 20));
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
                        return x.rule == y.rule && x.return_to == y.return_to && x.marks == y.marks;
                      });
  }

  struct Slot {
    uint64_t hash = 0;
    uint32_t position = kNone;
  };
  Automaton& automaton_;
  std::vector<uint32_t> kept_;    // per position, the one that stands for it
  std::vector<uint64_t> hashes_;  // of each position, as it is now
  std::vector<Slot> slots_;       // of those that were met, also as they were before
  std::vector<uint32_t> sources_begin_, sources_;
  std::vector<bool> is_affected_;
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
