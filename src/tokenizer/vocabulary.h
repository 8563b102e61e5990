#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

// A fast hash of short texts, for tables in memory only.
uint64_t hash_bytes(std::string_view bytes);

// Pieces and their ids, both ways. Ids may have holes. Pieces are kept in one buffer, and the way from piece to id is
// an open hash table, so that 150,000 of them load in a few milliseconds.
class Vocabulary {
 public:
  static constexpr int kNone = -1;
  static constexpr int64_t kMaxId = int64_t{1} << 26;

  // `place` names the file in messages.
  explicit Vocabulary(std::string place = "vocabulary") : place_(std::move(place)) {}

  // Makes room, and refuses ids that are far beyond the number of pieces: they would cost memory for nothing.
  void reserve(size_t pieces, size_t bytes);
  // Throws Error(kBadFile) when the piece or the id is taken, or the id is far beyond the number of pieces.
  void add(std::string_view piece, int64_t id);
  // The same, but a piece that is there already keeps its id and the new id stands for the same text.
  void add_duplicate(std::string_view piece, int64_t id);
  bool has_duplicates() const { return has_duplicates_; }
  int find(std::string_view piece) const { return find(piece, hash_bytes(piece)); }  // kNone: no such piece
  // The same in two steps, for many look-ups in a row: the memory is fetched meanwhile. hash == hash_bytes(piece).
  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
  }
  int find(std::string_view piece, uint64_t hash) const;
  std::string_view piece(int id) const {
    const Entry& entry = entries_[static_cast<size_t>(id)];
    return std::string_view(bytes_).substr(entry.begin, entry.size);
  }
  bool has(int64_t id) const {
    return id >= 0 && static_cast<size_t>(id) < entries_.size() && entries_[static_cast<size_t>(id)].used;
  }
  // A hidden piece is found by name, but models do not use it for text: control tokens, which only the caller may ask
  // for.
  void hide(int id) { entries_[static_cast<size_t>(id)].hidden = 1; }
  bool is_hidden(int id) const { return entries_[static_cast<size_t>(id)].hidden; }
  int find_visible(std::string_view piece) const {
    const int id = find(piece);
    return id == kNone || is_hidden(id) ? kNone : id;
  }
  int size() const { return static_cast<int>(entries_.size()); }  // the largest id plus one
  size_t count() const { return count_; }                         // without holes

 private:
  struct Entry {
    uint32_t begin = 0;
    uint32_t size : 30 = 0;
    uint32_t used : 1 = 0;
    uint32_t hidden : 1 = 0;
  };
  struct Slot {
    uint32_t hash = 0;
    int32_t id = kNone;
  };

  void add_new(std::string_view piece, uint64_t hash, int64_t id);
  void store(std::string_view piece, int64_t id);
  void index(uint64_t hash, int id);
  void grow(size_t pieces);

  std::string place_;
  std::string bytes_;
  std::vector<Entry> entries_;
  std::vector<Slot> slots_;
  size_t count_ = 0;
  int64_t max_id_ = kMaxId;
  bool has_duplicates_ = false;
};

}  // namespace wick
