#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "grammar/automaton/nfa.h"

namespace wick::grammar {

std::vector<bool> nullable_rules(const Nfa& nfa) {
  std::vector<bool> nullable(nfa.rule_count(), false);
  std::vector<bool> reached(nfa.node_count(), false);            // from the start of its rule, without a byte
  std::vector<std::vector<uint32_t>> waiting(nfa.rule_count());  // nodes reached once this rule is nullable
  std::vector<uint32_t> work;
  const auto reach = [&](uint32_t node) {
    if (reached[node]) return;
    reached[node] = true;
    work.push_back(node);
  };
  for (const uint32_t start : nfa.rule_start) reach(start);
  while (!work.empty()) {
    const uint32_t node = work.back(), rule = nfa.node_rule[node];
    work.pop_back();
    if (node == nfa.rule_end[rule]) {
      nullable[rule] = true;
      for (const uint32_t waiter : waiting[rule]) reach(waiter);
    }
    nfa.for_each_edge(node, [&](const NfaEdge& edge) {
      if (edge.kind == EdgeKind::kEpsilon || (edge.kind == EdgeKind::kCall && nullable[edge.rule])) {
        reach(edge.target);
      } else if (edge.kind == EdgeKind::kCall) {
        waiting[edge.rule].push_back(edge.target);
      }
    });
  }
  return nullable;
}

void remove_dead_ends(Nfa& nfa, RuleId root) {
  // Edges by what they wait for: their target, and for calls also the start of the rule.
  const auto for_each_wait = [&](const auto& visit) {
    for (uint32_t node = 0; node < nfa.node_count(); ++node) {
      for (uint32_t id = nfa.first_edge[node]; id != kNone; id = nfa.edges[id].next) {
        visit(nfa.edges[id].target, node, id);
        if (nfa.edges[id].kind == EdgeKind::kCall) visit(nfa.rule_start[nfa.edges[id].rule], node, id);
      }
    }
  };
  std::vector<uint32_t> begin(nfa.node_count() + 2, 0);
  for_each_wait([&](uint32_t on, uint32_t, uint32_t) { ++begin[on + 2]; });
  for (size_t i = 2; i < begin.size(); ++i) begin[i] += begin[i - 1];
  std::vector<std::pair<uint32_t, uint32_t>> into(begin.back());  // (source, edge)
  for_each_wait([&](uint32_t on, uint32_t source, uint32_t edge) { into[begin[on + 1]++] = {source, edge}; });
  std::vector<bool> alive, is_closed(nfa.rule_count(), false);
  const auto is_alive = [&](const NfaEdge& edge) {
    return alive[edge.target] && (edge.kind != EdgeKind::kCall || alive[nfa.rule_start[edge.rule]]);
  };
  std::vector<uint32_t> work;
  const auto revive = [&](uint32_t node) {
    if (alive[node]) return;
    alive[node] = true;
    work.push_back(node);
  };
  for (bool is_stable = false; !is_stable;) {
    alive.assign(nfa.node_count(), false);
    for (uint32_t rule = 0; rule < nfa.rule_count(); ++rule) {
      if (!is_closed[rule]) revive(nfa.rule_end[rule]);
    }
    while (!work.empty()) {
      const uint32_t node = work.back();
      work.pop_back();
      for (uint32_t i = begin[node]; i < begin[node + 1]; ++i) {
        if (is_alive(nfa.edges[into[i].second])) revive(into[i].first);
      }
    }
    // A rule ends only behind calls with all required marks, so one of these must be left for each.
    is_stable = true;
    std::vector<std::set<uint32_t>> left(nfa.rule_count());
    for (uint32_t node = 0; node < nfa.node_count(); ++node) {
      if (nfa.required_marks[nfa.node_rule[node]].empty()) continue;
      nfa.for_each_edge(node, [&](const NfaEdge& edge) {
        if (edge.marks == kNone || !is_alive(edge)) return;
        left[nfa.node_rule[node]].insert(nfa.mark_lists[edge.marks].begin(), nfa.mark_lists[edge.marks].end());
      });
    }
    for (uint32_t rule = 0; rule < nfa.rule_count(); ++rule) {
      const auto& marks = nfa.required_marks[rule];
      if (is_closed[rule] || std::all_of(marks.begin(), marks.end(), [&](uint32_t m) { return left[rule].count(m); })) {
        continue;
      }
      is_closed[rule] = true;
      is_stable = false;
    }
  }
  if (!alive[nfa.rule_start[root]]) {
    throw Error(ErrorCode::kInvalidArgument, cat("grammar: rule '", *nfa.rule_names[root], "' matches no text at all"));
  }
  for (uint32_t& head : nfa.first_edge) {
    for (uint32_t* link = &head; *link != kNone;) {
      NfaEdge& edge = nfa.edges[*link];
      if (is_alive(edge)) {
        link = &edge.next;
      } else {
        *link = edge.next;
      }
    }
  }
}

namespace {

// Per rule, the rules it can call before its first byte.
std::vector<std::vector<uint32_t>> left_calls(const Nfa& nfa, const std::vector<bool>& nullable) {
  std::vector<std::vector<uint32_t>> calls(nfa.rule_count());
  std::vector<bool> reached(nfa.node_count(), false);
  std::vector<uint32_t> work;
  for (uint32_t rule = 0; rule < nfa.rule_count(); ++rule) {
    work.push_back(nfa.rule_start[rule]);
    while (!work.empty()) {
      const uint32_t node = work.back();
      work.pop_back();
      if (reached[node]) continue;
      reached[node] = true;
      nfa.for_each_edge(node, [&](const NfaEdge& edge) {
        if (edge.kind == EdgeKind::kCall) calls[rule].push_back(edge.rule);
        if (edge.kind == EdgeKind::kEpsilon || (edge.kind == EdgeKind::kCall && nullable[edge.rule])) {
          work.push_back(edge.target);
        }
      });
    }
    std::sort(calls[rule].begin(), calls[rule].end());
    calls[rule].erase(std::unique(calls[rule].begin(), calls[rule].end()), calls[rule].end());
  }
  return calls;
}

}  // namespace

std::vector<uint32_t> left_call_ranks(const Nfa& nfa, const std::vector<bool>& nullable) {
  const auto calls = left_calls(nfa, nullable);
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(nfa.rule_count(), Mark::kNew);
  std::vector<uint32_t> ranks(nfa.rule_count(), 0);
  auto next_rank = static_cast<uint32_t>(nfa.rule_count());
  struct Visit {
    uint32_t rule;
    size_t next_call = 0;
  };
  std::vector<Visit> path;
  for (uint32_t first = 0; first < nfa.rule_count(); ++first) {
    if (marks[first] != Mark::kNew) continue;
    path.push_back({first});
    marks[first] = Mark::kOpen;
    while (!path.empty()) {
      Visit& visit = path.back();
      if (visit.next_call == calls[visit.rule].size()) {
        marks[visit.rule] = Mark::kDone;
        ranks[visit.rule] = --next_rank;
        path.pop_back();
        continue;
      }
      const uint32_t callee = calls[visit.rule][visit.next_call++];
      if (marks[callee] == Mark::kOpen) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat("grammar: rule '", *nfa.rule_names[callee],
                        "' is left-recursive: it can begin with itself, through '", *nfa.rule_names[visit.rule], "'"));
      }
      if (marks[callee] == Mark::kNew) {
        marks[callee] = Mark::kOpen;
        path.push_back({callee});
      }
    }
  }
  return ranks;
}

}  // namespace wick::grammar
