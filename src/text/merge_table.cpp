#include "text/merge_table.h"

#include <algorithm>
#include <bit>

#include "text/code_points.h"

namespace wick {
namespace {

constexpr size_t kLongestPiece = 1024;  // bytes; longer ones have too many ways to be made

}  // namespace

void MergeTable::reserve(size_t merges) {
  const int bits = std::bit_width(merges * 2);
  if (64 - shift_ < bits) rehash(bits);
}

void MergeTable::rehash(int bits) {
  std::vector<Entry> old = std::move(entries_);
  entries_.assign(size_t{1} << bits, {});
  mask_ = entries_.size() - 1;
  shift_ = 64 - bits;
  for (const Entry& entry : old) {
    if (entry.key == kEmpty) continue;
    size_t slot = hash(entry.key);
    while (entries_[slot].key != kEmpty) slot = (slot + 1) & mask_;
    entries_[slot] = entry;
  }
}

void MergeTable::add(int left, int right, Merge merge, bool keep_first) {
  if ((count_ + 1) * 2 > entries_.size()) rehash(64 - shift_ + 1);
  const uint64_t key = key_of(left, right);
  size_t slot = hash(key);
  while (entries_[slot].key != kEmpty && entries_[slot].key != key) slot = (slot + 1) & mask_;
  if (entries_[slot].key == key && keep_first) return;
  if (entries_[slot].key == kEmpty) ++count_;
  entries_[slot] = {key, merge};
  ranks_ = std::max(ranks_, merge.rank + 1);
}

void MergeTable::finish(int vocabulary_size) {
  std::vector<int64_t> made_at(static_cast<size_t>(vocabulary_size), -1);  // the last rank that makes each token
  for (const Entry& entry : entries_) {
    if (entry.key == kEmpty) continue;
    int64_t& last = made_at[static_cast<size_t>(entry.merge.result)];
    last = std::max<int64_t>(last, entry.merge.rank);
  }
  in_order_ = std::all_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.key == kEmpty ||
           (made_at[entry.key >> 32] < entry.merge.rank && made_at[entry.key & UINT32_MAX] < entry.merge.rank);
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
      if (right != Vocabulary::kNone) table.add(left, right, {ranks[id], id});
    }
  }
  table.finish(vocabulary.size());
  return table;
}

}  // namespace wick
