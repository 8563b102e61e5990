#include "text/grammar/mask_walk.h"

#include <algorithm>

namespace wick::grammar {
namespace {

struct Interval {
  uint32_t begin, end;  // of sorted tokens
};

class Walk {
 public:
  Walk(StateTable& states, const TokenVocabulary& vocabulary) : states_(states), vocabulary_(vocabulary) {}

  std::vector<Interval> run(State& from) {
    const auto nodes = vocabulary_.nodes();
    path_.assign(1, &from);
    if (reads_all(from, 0)) {
      allow(0, static_cast<uint32_t>(vocabulary_.sorted_tokens().size()));
      return std::move(allowed_);
    }
    const auto end = static_cast<uint32_t>(nodes.size() - 1);
    for (uint32_t i = 1; i < end;) {
      const auto& node = nodes[i];
      State* state = states_.next(*path_[node.depth - 1], node.byte);
      if (state == states_.dead()) {
        i = node.subtree_end;
        continue;
      }
      if (node.subtree_end == i + 1 || reads_all(*state, i)) {
        allow(node.tokens_begin, nodes[node.subtree_end].tokens_begin);
        i = node.subtree_end;
        continue;
      }
      allow(node.tokens_begin, nodes[i + 1].tokens_begin);
      path_.resize(node.depth);
      path_.push_back(state);
      ++i;
    }
    return std::move(allowed_);
  }

 private:
  static constexpr uint32_t kSmallSubtree = 4;  // tokens: walking them is as fast as asking

  void allow(uint32_t begin, uint32_t end) {
    if (begin == end) return;
    if (!allowed_.empty() && allowed_.back().end == begin) {
      allowed_.back().end = end;
    } else {
      allowed_.push_back({begin, end});
    }
  }

  // Whether the state reads everything below the node, whatever follows what.
  bool reads_all(State& from, uint32_t node) {
    const auto nodes = vocabulary_.nodes();
    if (nodes[nodes[node].subtree_end].tokens_begin - nodes[node].tokens_begin < kSmallSubtree) return false;
    const auto& below = vocabulary_.below(node);
    if (!below.is_utf8) return false;
    State* state = &from;
    for (int characters = below.max_characters; characters > 0; --characters) {
      const Run& run = states_.run(*state);
      if (!run.next || (below.has_others && !run.other) || (below.ascii & ~run.ascii).any()) return false;
      if (run.next == state) return true;
      state = run.next;
    }
    return true;
  }

  StateTable& states_;
  const TokenVocabulary& vocabulary_;
  std::vector<State*> path_;  // the state at each depth
  std::vector<Interval> allowed_;
};

}  // namespace

TokenMask walk_vocabulary(StateTable& states, State& from, const TokenVocabulary& vocabulary) {
  const std::vector<Interval> allowed = Walk(states, vocabulary).run(from);
  const auto sorted = vocabulary.sorted_tokens();
  size_t count = 0;
  for (const auto [begin, end] : allowed) count += end - begin;

  TokenMask mask;
  const auto end_tokens = vocabulary.end_tokens();
  mask.any = count > 0 || (from.is_complete && !end_tokens.empty());
  const size_t few = static_cast<size_t>(vocabulary.size()) / 32;  // as many words as the bits take
  const auto list = [&](uint32_t begin, uint32_t end) {
    mask.tokens.insert(mask.tokens.end(), sorted.begin() + begin, sorted.begin() + end);
  };
  if (count <= few) {
    mask.kind = TokenMask::Kind::kOnly;
    for (const auto [begin, end] : allowed) list(begin, end);
    return mask;
  }
  const size_t refused = sorted.size() - count;
  const auto for_each_refused = [&](const auto& visit) {
    uint32_t last = 0;
    for (const auto [begin, end] : allowed) {
      visit(last, begin);
      last = end;
    }
    visit(last, static_cast<uint32_t>(sorted.size()));
  };
  if (refused <= few) {
    mask.kind = TokenMask::Kind::kAllBut;
    for_each_refused(list);
    return mask;
  }
  mask.kind = TokenMask::Kind::kBits;
  if (refused < count) {
    mask.bits.assign(vocabulary.text_bits().begin(), vocabulary.text_bits().end());
    for_each_refused([&](uint32_t begin, uint32_t end) {
      for (; begin < end; ++begin) clear_bit(mask.bits, sorted[begin]);
    });
  } else {
    mask.bits.assign(vocabulary.text_bits().size(), 0);
    for (auto [begin, end] : allowed) {
      for (; begin < end; ++begin) set_bit(mask.bits, sorted[begin]);
    }
  }
  return mask;
}

}  // namespace wick::grammar
