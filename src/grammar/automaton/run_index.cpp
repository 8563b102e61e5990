#include "grammar/automaton/run_index.h"

#include <algorithm>

#include "grammar/automaton/utf8_state.h"
#include "grammar/token_mask.h"
#include "grammar/token_vocabulary.h"

namespace wick::grammar {

RunIndex::RunIndex(const TokenVocabulary& vocabulary, const RunCharacters& characters)
    : vocabulary_(vocabulary), characters_(characters) {
  walk();
  const auto sorted = vocabulary_.sorted_tokens();
  const auto lengths = vocabulary_.sorted_characters();
  for (const auto [begin, end] : tokens_) {
    count_ += end - begin;
    for (uint32_t i = begin; i < end; ++i) max_characters_ = std::max<uint32_t>(max_characters_, lengths[i]);
  }
  if (count_ > sorted.size() / 2) {
    bits_.assign(vocabulary_.text_bits().begin(), vocabulary_.text_bits().end());
    uint32_t last = 0;
    const auto clear_to = [&](uint32_t begin) {
      for (; last < begin; ++last) clear_bit(bits_, sorted[last]);
    };
    for (const auto [begin, end] : tokens_) {
      clear_to(begin);
      last = end;
    }
    clear_to(static_cast<uint32_t>(sorted.size()));
  } else {
    bits_.assign(vocabulary_.text_bits().size(), 0);
    for (auto [begin, end] : tokens_) {
      for (; begin < end; ++begin) set_bit(bits_, sorted[begin]);
    }
  }
}

void RunIndex::allow(uint32_t begin, uint32_t end) {
  if (begin == end) return;
  if (!tokens_.empty() && tokens_.back().end == begin) {
    tokens_.back().end = end;
  } else {
    tokens_.push_back({begin, end});
  }
}

// Whether all that lies below the node, which stands between two characters, stays in the run.
bool RunIndex::is_inside(uint32_t node) const {
  const auto& below = vocabulary_.below(node);
  return below.is_utf8 && (characters_.other || !below.has_others) && (below.ascii & ~characters_.ascii).none();
}

void RunIndex::walk() {
  struct At {
    Utf8State state = kBoundary;
    uint32_t characters = 0;
  };
  std::vector<At> path = {{}};  // per depth
  const auto nodes = vocabulary_.nodes();
  const auto end = static_cast<uint32_t>(nodes.size() - 1);
  for (uint32_t i = 1; i < end;) {
    const auto& node = nodes[i];
    At at = path[node.depth - 1];
    if (at.state == kBoundary) {
      const bool stays = node.byte < 0x80 ? characters_.ascii[node.byte] : characters_.other;
      if (!stays) {
        exits_.push_back({i, at.characters});
        i = node.subtree_end;
        continue;
      }
      ++at.characters;
    }
    at.state = utf8_next(at.state, node.byte);
    if (at.state == kBroken) {  // no run reads bytes that are no characters
      i = node.subtree_end;
      continue;
    }
    if (node.subtree_end == i + 1 || (at.state == kBoundary && is_inside(i))) {
      allow(node.tokens_begin, nodes[node.subtree_end].tokens_begin);
      i = node.subtree_end;
      continue;
    }
    allow(node.tokens_begin, nodes[i + 1].tokens_begin);
    path.resize(node.depth);
    path.push_back(at);
    ++i;
  }
}

const RunIndex::ByLength& RunIndex::by_length() const {
  std::call_once(once_, [&] {
    const auto sorted = vocabulary_.sorted_tokens();
    const auto lengths = vocabulary_.sorted_characters();
    auto& [tokens, longer_than] = by_length_;
    std::vector<uint32_t> counts(size_t{max_characters_} + 1, 0);
    for (const auto [begin, end] : tokens_) {
      for (uint32_t i = begin; i < end; ++i) ++counts[lengths[i]];
    }
    longer_than.assign(counts.size(), 0);
    for (size_t length = counts.size() - 1; length-- > 0;) {
      longer_than[length] = longer_than[length + 1] + counts[length + 1];
    }
    std::vector<uint32_t> next = longer_than;
    tokens.resize(count_);
    for (const auto [begin, end] : tokens_) {
      for (uint32_t i = begin; i < end; ++i) tokens[next[lengths[i]]++] = sorted[i];
    }
  });
  return by_length_;
}

std::shared_ptr<const RunIndex> RunIndexes::get(const TokenVocabulary& vocabulary, const RunCharacters& characters) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(indexes_.begin(), indexes_.end(),
                                  [&](const auto& index) { return index->characters() == characters; });
  if (known != indexes_.end()) {
    std::rotate(known, known + 1, indexes_.end());
    return indexes_.back();
  }
  if (indexes_.size() == kMaxIndexes) indexes_.erase(indexes_.begin());
  indexes_.push_back(std::make_shared<const RunIndex>(vocabulary, characters));
  return indexes_.back();
}

}  // namespace wick::grammar
