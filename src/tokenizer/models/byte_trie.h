#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace wick {

// Texts and a number for each, found by walking byte by byte. The edges are one open hash table.
class ByteTrie {
 public:
  static constexpr int kNone = -1;

  ByteTrie();
  // A text given twice keeps its last value.
  void add(std::string_view text, int value);
  bool empty() const { return values_.size() == 1; }

  // A node, or kNone.
  static constexpr int kRoot = 0;
  int step(int node, unsigned char byte) const {
    const uint64_t key = static_cast<uint64_t>(node) << 8 | byte;
    for (size_t slot = hash(key);; slot = (slot + 1) & (edges_.size() - 1)) {
      const Edge& edge = edges_[slot];
      if (edge.key == key) return edge.node;
      if (edge.node == kNone) return kNone;
    }
  }
  int value(int node) const { return values_[static_cast<size_t>(node)]; }  // kNone: no text ends here

  struct Found {
    int value = kNone;
    uint32_t bytes = 0;
  };
  // The longest text that `text` starts with; value kNone when there is none.
  Found longest(std::string_view text) const;

 private:
  struct Edge {
    uint64_t key = UINT64_MAX;
    int node = kNone;
  };
  size_t hash(uint64_t key) const { return (key * 0x9E3779B97F4A7C15) >> shift_; }
  void rehash(int bits);

  std::vector<Edge> edges_;
  std::vector<int> values_;
  int shift_ = 64;
};

}  // namespace wick
