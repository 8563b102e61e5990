#include "grammar/mask_walk.h"

#include <algorithm>
#include <optional>

namespace wick::grammar {
namespace {

struct Interval {
  uint32_t begin, end;  // of sorted tokens
};

class Walk {
 public:
  Walk(StateTable& states, const TokenVocabulary& vocabulary)
      : states_(states), vocabulary_(vocabulary), nodes_(vocabulary.nodes()) {}

  // All tokens.
  void from_root(State& from) {
    path_.assign(1, &from);
    base_depth_ = 0;
    walk(1, static_cast<uint32_t>(nodes_.size() - 1));
  }

  // The tokens at a node and below it, when `from` is the state before the node's byte.
  void from_node(State& from, uint32_t node) {
    if (states_.next(from, nodes_[node].byte) == states_.dead()) return;
    path_.assign(1, &from);
    base_depth_ = nodes_[node].depth - 1u;
    walk(node, nodes_[node].subtree_end);
  }

  const std::vector<Interval>& allowed() const { return allowed_; }

 private:
  static constexpr uint32_t kSmallSubtree = 4;  // tokens: walking them is as fast as asking

  void walk(uint32_t i, uint32_t end) {
    while (i < end) {
      const auto& node = nodes_[i];
      const size_t depth = node.depth - base_depth_;
      State* state = states_.next(*path_[depth - 1], node.byte);
      if (state == states_.dead()) {
        i = node.subtree_end;
        continue;
      }
      if (node.subtree_end == i + 1 || reads_all(*state, i)) {
        allow(node.tokens_begin, nodes_[node.subtree_end].tokens_begin);
        i = node.subtree_end;
        continue;
      }
      allow(node.tokens_begin, nodes_[i + 1].tokens_begin);
      path_.resize(depth);
      path_.push_back(state);
      ++i;
    }
  }

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
    if (nodes_[nodes_[node].subtree_end].tokens_begin - nodes_[node].tokens_begin < kSmallSubtree) return false;
    const auto& below = vocabulary_.below(node);
    if (!below.is_utf8) return false;
    const Run& run = states_.run(from);
    if (!run.next || (below.has_others && !run.characters.other)) return false;
    if ((below.ascii & ~run.characters.ascii).any()) return false;
    return states_.run_length(from, below.max_characters) >= below.max_characters;
  }

  StateTable& states_;
  const TokenVocabulary& vocabulary_;
  std::span<const TokenVocabulary::Node> nodes_;
  std::vector<State*> path_;  // the state at each depth from base_depth_ on
  size_t base_depth_ = 0;
  std::vector<Interval> allowed_;
};

void append(std::vector<uint32_t>& tokens, std::span<const uint32_t> sorted, Interval interval) {
  tokens.insert(tokens.end(), sorted.begin() + interval.begin, sorted.begin() + interval.end);
}

TokenMask pack(const std::vector<Interval>& allowed, const TokenVocabulary& vocabulary) {
  TokenMask mask;
  const auto sorted = vocabulary.sorted_tokens();
  const size_t few = static_cast<size_t>(vocabulary.size()) / 32;  // as many words as the bits take
  size_t count = 0;
  for (const auto [begin, end] : allowed) count += end - begin;
  mask.any = count > 0;
  if (count <= few) {
    for (const Interval& interval : allowed) append(mask.tokens, sorted, interval);
    return mask;
  }
  std::vector<Interval> refused;
  uint32_t last = 0;
  for (const auto [begin, end] : allowed) {
    refused.push_back({last, begin});
    last = end;
  }
  refused.push_back({last, static_cast<uint32_t>(sorted.size())});
  if (sorted.size() - count <= few) {
    mask.kind = TokenMask::Kind::kAllBut;
    for (const Interval& interval : refused) append(mask.tokens, sorted, interval);
    return mask;
  }
  mask.kind = TokenMask::Kind::kBits;
  if (sorted.size() - count < count) {
    mask.bits.assign(vocabulary.text_bits().begin(), vocabulary.text_bits().end());
    for (auto [begin, end] : refused) {
      for (; begin < end; ++begin) clear_bit(mask.bits, sorted[begin]);
    }
  } else {
    mask.bits.assign(vocabulary.text_bits().size(), 0);
    for (auto [begin, end] : allowed) {
      for (; begin < end; ++begin) set_bit(mask.bits, sorted[begin]);
    }
  }
  return mask;
}

constexpr size_t kManyCharacters = 24;  // in a run, for an index to pay

// A state that most characters lead from into an endless run, as in a name that must differ from others: behind those,
// a token goes on as if it had begun in the run. Tokens that begin with another character of the run are walked.
std::optional<TokenMask> walk_into_run(StateTable& states, State& from, const TokenVocabulary& vocabulary) {
  const Run& first = states.run(from);
  State* inside = first.next;
  if (!inside || inside == &from) return std::nullopt;
  const Run& run = states.run(*inside);
  const auto others = run.characters.ascii & ~first.characters.ascii;
  const bool is_part = run.next == inside && run.characters.other == first.characters.other &&
                       (first.characters.ascii & ~run.characters.ascii).none();
  if (!is_part || others.none() || others.count() > first.characters.ascii.count()) return std::nullopt;

  TokenMask mask;
  mask.kind = TokenMask::Kind::kRun;
  mask.run = vocabulary.run_index(run.characters);
  Walk walk(states, vocabulary);
  const auto nodes = vocabulary.nodes();
  const auto sorted = vocabulary.sorted_tokens();
  auto exit = mask.run->exits().begin();
  const auto last_exit = mask.run->exits().end();
  for (uint32_t child = 1; child + 1 < nodes.size(); child = nodes[child].subtree_end) {
    const uint8_t byte = nodes[child].byte;
    const uint32_t end = nodes[child].subtree_end;
    if (byte < 0x80 && others[byte]) {
      append(mask.removed, sorted, {nodes[child].tokens_begin, nodes[end].tokens_begin});
      walk.from_node(from, child);
      while (exit != last_exit && exit->node < end) ++exit;
    }
    for (; exit != last_exit && exit->node < end; ++exit) {
      walk.from_node(exit->characters == 0 ? from : *inside, exit->node);
    }
  }
  for (const Interval& interval : walk.allowed()) append(mask.tokens, sorted, interval);
  const auto removed = std::count_if(mask.removed.begin(), mask.removed.end(),
                                     [&](uint32_t token) { return mask.run->bits()[token / 32] >> (token % 32) & 1; });
  mask.any = !mask.tokens.empty() || static_cast<size_t>(removed) < mask.run->count();
  return mask;
}

// The mask by way of the run's index; empty when that does not apply: the run is of few characters, or its last state
// goes on with some of them.
std::optional<TokenMask> walk_run(StateTable& states, State& from, const TokenVocabulary& vocabulary) {
  const Run& run = states.run(from);
  if (!run.next || run.characters.ascii.count() < kManyCharacters) return std::nullopt;
  if (auto mask = walk_into_run(states, from, vocabulary)) return mask;
  auto index = vocabulary.run_index(run.characters);
  const uint32_t length = std::min(states.run_length(from, index->max_characters()), index->max_characters());
  // The state after each count of characters; a run without end stays in the last.
  std::vector<State*> chain = {&from};
  while (chain.size() <= length) {
    State* next = states.run(*chain.back()).next;
    if (next == chain.back()) break;
    chain.push_back(next);
  }
  if (length < index->max_characters() && states.reads_any(*chain.back(), run.characters)) return std::nullopt;
  Walk walk(states, vocabulary);
  for (const auto [node, characters] : index->exits()) {
    if (characters <= length) walk.from_node(*chain[std::min<size_t>(characters, chain.size() - 1)], node);
  }
  TokenMask mask;
  mask.kind = TokenMask::Kind::kRun;
  if (length < index->max_characters()) mask.too_long = index->by_length().longer_than[length];
  for (const Interval& interval : walk.allowed()) append(mask.tokens, vocabulary.sorted_tokens(), interval);
  mask.any = !mask.tokens.empty() || mask.too_long < index->count();
  mask.run = std::move(index);
  return mask;
}

}  // namespace

TokenMask walk_vocabulary(StateTable& states, State& from, const TokenVocabulary& vocabulary) {
  auto by_run = walk_run(states, from, vocabulary);
  TokenMask mask;
  if (by_run) {
    mask = *std::move(by_run);
  } else {
    Walk walk(states, vocabulary);
    walk.from_root(from);
    mask = pack(walk.allowed(), vocabulary);
  }
  mask.any |= from.is_complete && !vocabulary.end_tokens().empty();
  return mask;
}

void write_mask(const TokenMask& mask, std::span<const uint32_t> text_bits, std::span<uint32_t> bits) {
  switch (mask.kind) {
    case TokenMask::Kind::kOnly:
      for (const uint32_t token : mask.tokens) set_bit(bits, token);
      break;
    case TokenMask::Kind::kAllBut:
      std::copy(text_bits.begin(), text_bits.end(), bits.begin());
      for (const uint32_t token : mask.tokens) clear_bit(bits, token);
      break;
    case TokenMask::Kind::kBits: std::copy(mask.bits.begin(), mask.bits.end(), bits.begin()); break;
    case TokenMask::Kind::kRun: {
      if (mask.too_long <= mask.run->count() / 2) {
        std::copy(mask.run->bits().begin(), mask.run->bits().end(), bits.begin());
        for (uint32_t i = 0; i < mask.too_long; ++i) clear_bit(bits, mask.run->by_length().tokens[i]);
      } else {
        const auto& tokens = mask.run->by_length().tokens;
        for (size_t i = mask.too_long; i < tokens.size(); ++i) set_bit(bits, tokens[i]);
      }
      for (const uint32_t token : mask.removed) clear_bit(bits, token);
      for (const uint32_t token : mask.tokens) set_bit(bits, token);
      break;
    }
  }
}

}  // namespace wick::grammar
