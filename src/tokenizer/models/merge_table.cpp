#include "tokenizer/models/merge_table.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "base/text.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr size_t kLongestPiece = 1024;  // bytes; longer ones have too many ways to be made

}  // namespace

void MergeTable::reserve(size_t merges) {
  const int bits = std::bit_width(merges + merges / 2);
  if (64 - shift_ < bits) rehash(bits);
  results_.reserve(merges);
}

void MergeTable::rehash(int bits) {
  const std::vector<uint64_t> old = std::move(entries_);
  entries_.assign(size_t{1} << bits, kEmpty);
  mask_ = entries_.size() - 1;
  shift_ = 64 - bits;
  for (const uint64_t entry : old) {
    if (entry == kEmpty) continue;
    size_t slot = hash(entry >> kRankBits);
    while (entries_[slot] != kEmpty) slot = (slot + 1) & mask_;
    entries_[slot] = entry;
  }
}

void MergeTable::add(int left, int right, uint32_t rank, int result, bool keep_first) {
  if (std::max({left, right, result}) >= kMaxIds - 1 || rank >= kMaxRanks - 1) {
    throw Error(ErrorCode::kUnsupported,
                cat("byte-pair encoding is limited to ", kMaxIds, " tokens and ", kMaxRanks, " merges"));
  }
  if ((count_ + 1) * 3 > entries_.size() * 2) rehash(64 - shift_ + 1);
  const uint64_t key = key_of(left, right);
  size_t slot = hash(key);
  while (entries_[slot] != kEmpty && entries_[slot] >> kRankBits != key) slot = (slot + 1) & mask_;
  if (rank >= results_.size()) results_.resize(rank + 1, -1);
  results_[rank] = result;
  if (entries_[slot] != kEmpty && keep_first) return;
  if (entries_[slot] == kEmpty) ++count_;
  entries_[slot] = key << kRankBits | rank;
  const uint64_t hash = key * kMultiplier;
  filter_[hash >> 26 & (kFilterWords - 1)] |= uint64_t{1} << (hash >> 20 & 63);
}

void MergeTable::finish(int vocabulary_size) {
  std::vector<int64_t> made_at(static_cast<size_t>(vocabulary_size), -1);  // the last rank that makes each token
  for (size_t rank = 0; rank < results_.size(); ++rank) {
    if (results_[rank] >= 0) made_at[static_cast<size_t>(results_[rank])] = static_cast<int64_t>(rank);
  }
  in_order_ = std::all_of(entries_.begin(), entries_.end(), [&](uint64_t entry) {
    const auto rank = static_cast<int64_t>(entry & (kMaxRanks - 1));
    const uint64_t left = entry >> (kRankBits + 21), right = entry >> kRankBits & (kMaxIds - 1);
    return entry == kEmpty || (made_at[left] < rank && made_at[right] < rank);
  });
}

MergeTable merges_of_pieces(const Vocabulary& vocabulary, const std::vector<uint32_t>& ranks, bool bytes) {
  MergeTable table;
  table.reserve(vocabulary.count() * 2);
  for (int id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id) || ranks[id] == MergeTable::kNoRank) continue;
    const std::string_view piece = vocabulary.piece(id);
    if (piece.size() > kLongestPiece) continue;
    for (size_t cut = 1; cut < piece.size(); ++cut) {
      if (!bytes && !is_utf8_start(piece[cut])) continue;
      const int left = vocabulary.find(piece.substr(0, cut));
      if (left == Vocabulary::kNone) continue;
      const int right = vocabulary.find(piece.substr(cut));
      if (right != Vocabulary::kNone) table.add(left, right, ranks[id], id);
    }
  }
  table.finish(vocabulary.size());
  return table;
}

}  // namespace wick
