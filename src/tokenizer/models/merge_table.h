#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokenizer/vocabulary.h"

namespace wick {

// The merges of byte-pair encoding: two neighbouring tokens, the rank of joining them (lowest first), the result.
class MergeTable {
 public:
  static constexpr uint32_t kNoRank = UINT32_MAX;
  static constexpr int kMaxIds = 1 << 21;  // ids and ranks share one word
  static constexpr uint32_t kMaxRanks = 1 << 22;

  void reserve(size_t merges);
  // The ranks are 0, 1, 2, ... A pair given again keeps its first rank when `keep_first`, else gets the new one. Pairs
  // with the same result may share a rank. Throws Error(kUnsupported) beyond the limits.
  void add(int left, int right, uint32_t rank, int result, bool keep_first = false);

  // kNoRank when the pair is not joined.
  uint32_t rank(int left, int right) const {
    const uint64_t key = key_of(left, right);
    const uint64_t hash = key * kMultiplier;
    if (!(filter_[hash >> 26 & (kFilterWords - 1)] >> (hash >> 20 & 63) & 1)) return kNoRank;
    for (size_t slot = hash >> shift_;; slot = (slot + 1) & mask_) {
      const uint64_t entry = entries_[slot];
      if (entry >> kRankBits == key) return static_cast<uint32_t>(entry & (kMaxRanks - 1));
      if (entry == kEmpty) return kNoRank;
    }
  }
  int result(uint32_t rank) const { return results_[rank]; }

  size_t count() const { return count_; }
  uint32_t ranks() const { return static_cast<uint32_t>(results_.size()); }  // the largest rank plus one

  // Call once after the last add. True from then on when each pair ranks after the merges that make its two sides:
  // joining all pairs of one rank, from the left, then all of the next, gives the same as joining one by one.
  void finish(int vocabulary_size);
  bool in_order() const { return in_order_; }

 private:
  static constexpr int kRankBits = 22;
  static constexpr uint64_t kEmpty = UINT64_MAX;
  static constexpr uint64_t kMultiplier = 0x9E3779B97F4A7C15;
  static constexpr size_t kFilterWords = size_t{1} << 14;
  static uint64_t key_of(int left, int right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 21 | static_cast<uint32_t>(right);
  }
  size_t hash(uint64_t key) const { return key * kMultiplier >> shift_; }
  void rehash(int bits);

  std::vector<uint64_t> entries_ = {kEmpty, kEmpty};  // bits 43-63 left, 22-42 right, 0-21 rank
  // A bit for each hash: most pairs that are not joined are turned away here, within the nearest cache.
  std::vector<uint64_t> filter_ = std::vector<uint64_t>(kFilterWords);
  std::vector<int> results_;  // by rank
  size_t mask_ = 1;
  int shift_ = 63;
  size_t count_ = 0;
  bool in_order_ = false;
};

// All ways to make each piece of the vocabulary from two others; the rank of a merge is that of the piece it makes.
// ranks[id] is kNoRank for pieces that are never made.
MergeTable merges_of_pieces(const Vocabulary& vocabulary, const std::vector<uint32_t>& ranks, bool bytes);

}  // namespace wick
