#include "tokenizer/vocabulary.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 30;

uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

uint64_t hash_bytes(std::string_view bytes) {
  constexpr uint64_t kSeed = 0x9E3779B97F4A7C15, kOther = 0xE7037ED1A0B428DB;
  const char* at = bytes.data();
  size_t left = bytes.size();
  uint64_t hash = kSeed ^ left;
  while (left >= 8) {
    uint64_t word = 0;
    std::memcpy(&word, at, 8);
    hash = mix(hash ^ word, kOther);
    at += 8;
    left -= 8;
  }
  uint64_t word = 0;
  if (left >= 4) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + left - 4, 4);
    word = low | static_cast<uint64_t>(high) << 32;
  } else if (left > 0) {
    word = static_cast<unsigned char>(at[0]) | static_cast<uint64_t>(static_cast<unsigned char>(at[left / 2])) << 8 |
           static_cast<uint64_t>(static_cast<unsigned char>(at[left - 1])) << 16;
  }
  return mix(hash ^ word, kSeed);
}

void Vocabulary::reserve(size_t pieces, size_t bytes) {
  bytes_.reserve(bytes);
  entries_.reserve(pieces);
  grow(pieces);
  max_id_ = std::min(kMaxId, 2 * static_cast<int64_t>(pieces) + 65536);
}

void Vocabulary::grow(size_t pieces) {
  const size_t wanted = std::bit_ceil(std::max<size_t>(pieces + pieces / 2, 16));
  if (wanted <= slots_.size()) return;
  slots_.assign(wanted, {});
  for (int id = 0; id < size(); ++id) {
    if (entries_[id].used && find(piece(id)) == kNone) index(hash_bytes(piece(id)), id);
  }
}

void Vocabulary::index(uint64_t hash, int id) {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].id != kNone) slot = (slot + 1) & mask;
  slots_[slot] = {static_cast<uint32_t>(hash >> 32), id};
}

int Vocabulary::find(std::string_view piece, uint64_t hash) const {
  if (slots_.empty()) return kNone;
  const auto tag = static_cast<uint32_t>(hash >> 32);
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask; slots_[slot].id != kNone; slot = (slot + 1) & mask) {
    if (slots_[slot].hash == tag && this->piece(slots_[slot].id) == piece) return slots_[slot].id;
  }
  return kNone;
}

void Vocabulary::store(std::string_view piece, int64_t id) {
  if (id < 0 || id >= max_id_) {
    throw Error(ErrorCode::kBadFile, cat(place_, ": the id ", id, " of ", in_quotes(piece), " is ",
                                         id < 0 ? "negative" : "far beyond the number of pieces"));
  }
  if (has(id)) {
    throw Error(ErrorCode::kBadFile, cat(place_, ": the id ", id, " is given to both ",
                                         in_quotes(this->piece(static_cast<int>(id))), " and ", in_quotes(piece)));
  }
  if (bytes_.size() + piece.size() > kMaxBytes) {
    throw Error(ErrorCode::kBadFile, cat(place_, ": the pieces have more than ", kMaxBytes, " bytes"));
  }
  if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(static_cast<size_t>(id) + 1);
  Entry& entry = entries_[static_cast<size_t>(id)];
  entry.begin = static_cast<uint32_t>(bytes_.size());
  entry.size = static_cast<uint32_t>(piece.size());
  entry.used = 1;
  bytes_ += piece;
  ++count_;
}

void Vocabulary::add(std::string_view piece, int64_t id) {
  const uint64_t hash = hash_bytes(piece);
  if (const int other = find(piece, hash); other != kNone) {
    throw Error(ErrorCode::kBadFile,
                cat(place_, ": ", in_quotes(piece), " is given twice, with the ids ", other, " and ", id));
  }
  add_new(piece, hash, id);
}

void Vocabulary::add_new(std::string_view piece, uint64_t hash, int64_t id) {
  if ((count_ + 1) * 4 > slots_.size() * 3) grow(count_ * 2 + 1);
  store(piece, id);
  index(hash, static_cast<int>(id));
}

void Vocabulary::add_duplicate(std::string_view piece, int64_t id) {
  const uint64_t hash = hash_bytes(piece);
  if (find(piece, hash) == kNone) return add_new(piece, hash, id);
  has_duplicates_ = true;
  store(piece, id);
}

}  // namespace wick
