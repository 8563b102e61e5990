#include "tokenizer/models/byte_trie.h"

namespace wick {

ByteTrie::ByteTrie() : values_(1, kNone) { rehash(6); }

void ByteTrie::rehash(int bits) {
  std::vector<Edge> old = std::move(edges_);
  edges_.assign(size_t{1} << bits, {});
  shift_ = 64 - bits;
  for (const Edge& edge : old) {
    if (edge.node == kNone) continue;
    size_t slot = hash(edge.key);
    while (edges_[slot].node != kNone) slot = (slot + 1) & (edges_.size() - 1);
    edges_[slot] = edge;
  }
}

void ByteTrie::add(std::string_view text, int value) {
  int node = kRoot;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    int next = step(node, byte);
    if (next == kNone) {
      if (values_.size() * 2 > edges_.size()) rehash(64 - shift_ + 1);
      next = static_cast<int>(values_.size());
      values_.push_back(kNone);
      const uint64_t key = static_cast<uint64_t>(node) << 8 | byte;
      size_t slot = hash(key);
      while (edges_[slot].node != kNone) slot = (slot + 1) & (edges_.size() - 1);
      edges_[slot] = {key, next};
    }
    node = next;
  }
  values_[static_cast<size_t>(node)] = value;
}

ByteTrie::Found ByteTrie::longest(std::string_view text) const {
  Found found;
  int node = kRoot;
  for (uint32_t i = 0; i < text.size(); ++i) {
    node = step(node, static_cast<unsigned char>(text[i]));
    if (node == kNone) break;
    if (values_[static_cast<size_t>(node)] != kNone) found = {values_[static_cast<size_t>(node)], i + 1};
  }
  return found;
}

}  // namespace wick
