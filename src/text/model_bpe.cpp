#include "text/model_bpe.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/utf8.h"
#include "text/byte_level.h"
#include "text/byte_tokens.h"
#include "text/code_points.h"
#include "text/word_cache.h"

namespace wick {
namespace {

constexpr size_t kFewSymbols = 80;    // up to here, looking at all pairs beats a queue
constexpr size_t kManySymbols = 512;  // from here on, a list per rank beats a queue
constexpr size_t kLongWord = 256;     // bytes; from here on, a word is first cut where no token can cross
constexpr size_t kWorthAPass = 16;    // a pass over all symbols pays when it joins one in so many

constexpr std::string_view kMark = "\u2581";  // SentencePiece's mark before a word

// True when the mark stands only at the start of pieces: then no token crosses from a word to the mark of the next.
bool marks_start_words(const Vocabulary& vocabulary) {
  for (int id = 0; id < vocabulary.size(); ++id) {
    if (!vocabulary.has(id)) continue;
    std::string_view piece = vocabulary.piece(id);
    while (piece.starts_with(kMark)) piece.remove_prefix(kMark.size());
    if (piece.find(kMark) != std::string_view::npos) return false;
  }
  return true;
}

}  // namespace

struct BpeModel::Work {
  std::vector<Symbol> symbols;  // of the tokens found so far, then of the word at hand
  std::string letters;
  std::vector<uint32_t> ranks;  // of the pairs, by their left symbol
  std::vector<int32_t> next, previous;
  struct Place {
    int32_t at, next;
  };
  std::vector<Place> places;      // lists of places by rank
  std::vector<int32_t> heads;     // of those lists
  std::vector<uint64_t> waiting;  // the ranks that have a list, as bits
  std::vector<int32_t> at_rank;
  bool complete = true;  // the symbols cover the whole piece
};

BpeModel::BpeModel(std::shared_ptr<const Vocabulary> vocabulary, MergeTable merges, Options options)
    : vocabulary_(std::move(vocabulary)), merges_(std::move(merges)), options_(std::move(options)) {
  fallback_ids_ = byte_token_ids(*vocabulary_);
  for (int byte = 0; byte < 256; ++byte) {
    const char raw = static_cast<char>(byte);
    byte_ids_[byte] = options_.raw_bytes ? vocabulary_->find(std::string_view(&raw, 1))
                                         : vocabulary_->find(bytes_to_letters(std::string_view(&raw, 1)));
  }
  // With a token for every byte, and nothing to add to them, characters need not be looked at.
  const bool has_all = std::find(byte_ids_.begin(), byte_ids_.end(), Vocabulary::kNone) == byte_ids_.end();
  reads_bytes_ = (options_.byte_letters || options_.raw_bytes) && has_all && options_.continuing_prefix.empty() &&
                 options_.end_of_word_suffix.empty();
  if (reads_bytes_) {
    byte_ranks_.resize(65536);
    for (size_t pair = 0; pair < byte_ranks_.size(); ++pair) {
      byte_ranks_[pair] = merges_.rank(byte_ids_[pair >> 8], byte_ids_[pair & 255]);
    }
  }
  // Unknown characters of two words could be fused, unless there are none.
  const bool fuses = options_.fuse_unknown &&
                     !(options_.byte_fallback &&
                       std::find(fallback_ids_.begin(), fallback_ids_.end(), Vocabulary::kNone) == fallback_ids_.end());
  cuts_at_word_marks_ = !options_.byte_letters && !options_.raw_bytes && options_.continuing_prefix.empty() &&
                        options_.end_of_word_suffix.empty() && !fuses && !options_.ignore_merges &&
                        marks_start_words(*vocabulary_);
  owner_ = WordCache::new_owner();
}

void BpeModel::encode(std::string_view text, std::span<const Span> pieces, TokenSink& sink) const {
  Work work;
  WordCache& cache = WordCache::of_this_thread();
  for (const Span range : pieces) {
    const std::string_view piece = text.substr(range.begin, range.size());
    WordCache::Entry* entry = nullptr;
    if (piece.size() <= WordCache::kMaxBytes) {
      entry = &cache.place(owner_, piece);
      if (WordCache::holds(*entry, owner_, piece)) {
        uint32_t at = range.begin;
        for (size_t token = 0; token < entry->tokens; ++token) {
          sink.add(entry->ids[token], at, at + entry->lengths[token]);
          at += entry->lengths[token];
        }
        continue;
      }
    }
    work.symbols.clear();
    work.complete = true;
    encode_uncached(piece, work);
    uint32_t at = range.begin;
    for (const Symbol& symbol : work.symbols) {
      sink.add(symbol.id, at, at + symbol.bytes);
      at += symbol.bytes;
    }
    if (entry && work.complete && work.symbols.size() <= WordCache::kMaxTokens) {
      entry->owner = owner_;
      entry->bytes = static_cast<uint8_t>(piece.size());
      entry->tokens = static_cast<uint8_t>(work.symbols.size());
      std::memcpy(entry->word.data(), piece.data(), piece.size());
      for (size_t token = 0; token < work.symbols.size(); ++token) {
        entry->ids[token] = work.symbols[token].id;
        entry->lengths[token] = static_cast<uint8_t>(work.symbols[token].bytes);
      }
    }
  }
}

int BpeModel::id_of_whole(std::string_view piece, Work& work) const {
  if (!options_.byte_letters) return vocabulary_->find_visible(piece);
  work.letters.clear();
  for (const char byte : piece) append_utf8(work.letters, byte_letters()[static_cast<unsigned char>(byte)]);
  return vocabulary_->find_visible(work.letters);
}

void BpeModel::encode_uncached(std::string_view piece, Work& work) const {
  if (options_.ignore_merges) {
    if (const int id = id_of_whole(piece, work); id != Vocabulary::kNone) {
      work.symbols.push_back({id, static_cast<uint32_t>(piece.size())});
      return;
    }
  }
  if (cuts_at_word_marks_ && piece.size() > kFewSymbols) return encode_at_word_marks(piece, work);
  if (reads_bytes_ && piece.size() > kLongWord) return encode_long(piece, work);
  encode_word(piece, work);
}

// Text that was not cut into words, only marked: the words can be merged one by one.
void BpeModel::encode_at_word_marks(std::string_view piece, Work& work) const {
  WordCache& cache = WordCache::of_this_thread();
  for (size_t begin = 0; begin < piece.size();) {
    size_t end = begin;
    while (piece.substr(end).starts_with(kMark)) end += kMark.size();
    end = std::min(piece.find(kMark, end), piece.size());
    const std::string_view word = piece.substr(begin, end - begin);
    begin = end;
    WordCache::Entry* entry = word.size() <= WordCache::kMaxBytes ? &cache.place(owner_, word) : nullptr;
    if (entry && WordCache::holds(*entry, owner_, word)) {
      for (size_t i = 0; i < entry->tokens; ++i) work.symbols.push_back({entry->ids[i], entry->lengths[i]});
      continue;
    }
    const size_t first = work.symbols.size();
    const bool complete_before = work.complete;
    work.complete = true;
    encode_word(word, work);
    const size_t count = work.symbols.size() - first;
    if (entry && work.complete && count <= WordCache::kMaxTokens) {
      entry->owner = owner_;
      entry->bytes = static_cast<uint8_t>(word.size());
      entry->tokens = static_cast<uint8_t>(count);
      std::memcpy(entry->word.data(), word.data(), word.size());
      for (size_t i = 0; i < count; ++i) {
        entry->ids[i] = work.symbols[first + i].id;
        entry->lengths[i] = static_cast<uint8_t>(work.symbols[first + i].bytes);
      }
    }
    work.complete = work.complete && complete_before;
  }
}

// The pairs of bytes that stand side by side in some token.
const std::bitset<65536>& BpeModel::neighbours() const {
  std::call_once(neighbours_once_, [this] {
    auto pairs = std::make_unique<std::bitset<65536>>();
    for (int id = 0; id < vocabulary_->size(); ++id) {
      if (!vocabulary_->has(id) || vocabulary_->is_hidden(id)) continue;
      const std::string_view piece = vocabulary_->piece(id);
      const std::string bytes = options_.raw_bytes ? std::string(piece) : letters_to_bytes(piece).value_or("");
      for (size_t i = 0; i + 1 < bytes.size(); ++i) {
        pairs->set(static_cast<unsigned char>(bytes[i]) << 8 | static_cast<unsigned char>(bytes[i + 1]));
      }
    }
    neighbours_ = std::move(pairs);
  });
  return *neighbours_;
}

// No token crosses from a byte to one that is its neighbour in no token.
void BpeModel::encode_long(std::string_view word, Work& work) const {
  const std::bitset<65536>& pairs = neighbours();
  for (size_t begin = 0; begin < word.size();) {
    size_t end = begin + 1;
    while (end < word.size() &&
           pairs.test(static_cast<unsigned char>(word[end - 1]) << 8 | static_cast<unsigned char>(word[end]))) {
      ++end;
    }
    encode_word(word.substr(begin, end - begin), work);
    begin = end;
  }
}

void BpeModel::encode_word(std::string_view word, Work& work) const {
  const size_t first = work.symbols.size();
  work.ranks.clear();
  if (reads_bytes_) {
    split_bytes(word, work);
  } else {
    split_characters(word, work);
  }
  const size_t count = work.symbols.size() - first;
  if (count < 2) return;
  if (!merges_.in_order()) return count <= kFewSymbols ? merge_few(work, first) : merge_by_heap(work, first);
  if (count <= kFewSymbols) {
    merge_in_passes(work, first, true);
  } else if (count < kManySymbols) {
    merge_by_heap(work, first);
  } else if (!merge_in_passes(work, first, false)) {
    merge_by_rank(work, first);
  }
}

void BpeModel::split_bytes(std::string_view word, Work& work) const {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(word[i]); };
  const size_t first = work.symbols.size();
  work.symbols.resize(first + word.size());
  work.ranks.resize(word.empty() ? 0 : word.size() - 1);
  Symbol* symbols = work.symbols.data() + first;
  for (size_t i = 0; i < word.size(); ++i) symbols[i] = {byte_ids_[byte(i)], 1};
  for (size_t i = 0; i + 1 < word.size(); ++i) work.ranks[i] = byte_ranks_[byte(i) << 8 | byte(i + 1)];
}

bool BpeModel::add_fallback_bytes(std::string_view text, Work& work) const {
  const auto id_of = [this](char byte) { return fallback_ids_[static_cast<unsigned char>(byte)]; };
  if (std::any_of(text.begin(), text.end(), [&](char byte) { return id_of(byte) == Vocabulary::kNone; })) return false;
  for (const char byte : text) work.symbols.push_back({id_of(byte), 1});
  return true;
}

void BpeModel::split_characters(std::string_view word, Work& work) const {
  std::string decorated;
  const size_t first = work.symbols.size();
  size_t unknown = SIZE_MAX;  // the symbol that further unknown characters join
  for (uint32_t at = 0; at < word.size();) {
    // Bytes that are written as letters are characters of their own.
    const bool single = options_.byte_letters || options_.raw_bytes;
    const uint32_t bytes = single ? 1 : code_point_at(word, at).bytes;
    std::string_view character = word.substr(at, bytes);
    std::string letter;
    if (options_.byte_letters) character = letter = bytes_to_letters(character);
    const bool is_first = at == 0, is_last = at + bytes == word.size();
    if ((!is_first && !options_.continuing_prefix.empty()) || (is_last && !options_.end_of_word_suffix.empty())) {
      decorated = is_first ? "" : options_.continuing_prefix;
      decorated += character;
      if (is_last) decorated += options_.end_of_word_suffix;
      character = decorated;
    }
    at += bytes;
    if (const int id = vocabulary_->find(character); id != Vocabulary::kNone) {
      work.symbols.push_back({id, bytes});
      unknown = SIZE_MAX;
    } else if (options_.byte_fallback && add_fallback_bytes(character, work)) {
      if (character.size() != bytes) work.complete = false;
    } else if (options_.unknown_id == Vocabulary::kNone) {
      work.complete = false;
    } else if (options_.fuse_unknown && unknown != SIZE_MAX && unknown >= first) {
      work.symbols[unknown].bytes += bytes;
    } else {
      unknown = work.symbols.size();
      work.symbols.push_back({options_.unknown_id, bytes});
    }
  }
}

// Looks for the lowest rank among all pairs, joins, and closes the gap.
void BpeModel::merge_few(Work& work, size_t first) const {
  std::array<uint32_t, kFewSymbols> ranks;
  Symbol* symbols = work.symbols.data() + first;
  size_t count = work.symbols.size() - first;
  const auto rank_at = [&](size_t i) { return merges_.rank(symbols[i].id, symbols[i + 1].id); };
  if (!work.ranks.empty()) {
    std::copy(work.ranks.begin(), work.ranks.end(), ranks.begin());
  } else {
    for (size_t i = 0; i + 1 < count; ++i) ranks[i] = rank_at(i);
  }
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == MergeTable::kNoRank) break;
    symbols[best].id = merges_.result(ranks[best]);
    symbols[best].bytes += symbols[best + 1].bytes;
    --count;
    std::memmove(symbols + best + 1, symbols + best + 2, (count - best - 1) * sizeof(Symbol));
    std::memmove(ranks.data() + best, ranks.data() + best + 1, (count - best - 1) * sizeof(uint32_t));
    if (best > 0) ranks[best - 1] = rank_at(best - 1);
    if (best + 1 < count) ranks[best] = rank_at(best);
  }
  work.symbols.resize(first + count);
}

namespace {

// Fills `ranks` for all pairs, unless splitting did it, with kNoRank after the last symbol.
template <typename Symbol>
void fill_ranks(std::vector<uint32_t>& ranks, const MergeTable& merges, const Symbol* symbols, size_t count) {
  if (ranks.size() + 1 != count) {
    ranks.resize(count - 1);
    for (size_t i = 0; i + 1 < count; ++i) ranks[i] = merges.rank(symbols[i].id, symbols[i + 1].id);
  }
  ranks.push_back(MergeTable::kNoRank);
}

void link_all(std::vector<int32_t>& next, std::vector<int32_t>& previous, size_t count) {
  next.resize(count);
  previous.resize(count);
  for (size_t i = 0; i < count; ++i) {
    next[i] = i + 1 < count ? static_cast<int32_t>(i + 1) : -1;
    previous[i] = static_cast<int32_t>(i) - 1;
  }
}

}  // namespace

void BpeModel::merge_by_heap(Work& work, size_t first) const {
  Symbol* symbols = work.symbols.data() + first;
  const size_t count = work.symbols.size() - first;
  fill_ranks(work.ranks, merges_, symbols, count);
  link_all(work.next, work.previous, count);
  std::vector<uint32_t>& ranks = work.ranks;
  std::vector<int32_t>& next = work.next;
  std::vector<uint64_t> heap;  // rank, then position: the smallest comes first
  const auto entry = [&](int32_t at) { return static_cast<uint64_t>(ranks[at]) << 32 | static_cast<uint32_t>(at); };
  for (size_t i = 0; i < count; ++i) {
    if (ranks[i] != MergeTable::kNoRank) heap.push_back(entry(static_cast<int32_t>(i)));
  }
  const auto look = [&](int32_t at) {
    ranks[at] = next[at] < 0 ? MergeTable::kNoRank : merges_.rank(symbols[at].id, symbols[next[at]].id);
    if (ranks[at] == MergeTable::kNoRank) return;
    heap.push_back(entry(at));
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto rank = static_cast<uint32_t>(heap.back() >> 32);
    const auto at = static_cast<int32_t>(heap.back() & UINT32_MAX);
    heap.pop_back();
    if (ranks[at] != rank) continue;  // one of the two is gone
    const int32_t right = next[at];
    symbols[at].id = merges_.result(rank);
    symbols[at].bytes += symbols[right].bytes;
    ranks[right] = MergeTable::kNoRank;
    next[at] = next[right];
    if (next[right] >= 0) work.previous[next[right]] = at;
    look(at);
    if (work.previous[at] >= 0) look(work.previous[at]);
  }
  size_t kept = 0;
  for (int32_t at = 0; at >= 0; at = next[at]) symbols[kept++] = symbols[at];
  work.symbols.resize(first + kept);
}

// Joins all pairs of the lowest rank in one pass over the symbols, as long as that joins many: good for text that
// repeats itself. False when there is more to join; the ranks are then up to date.
bool BpeModel::merge_in_passes(Work& work, size_t first, bool to_the_end) const {
  Symbol* symbols = work.symbols.data() + first;
  size_t count = work.symbols.size() - first;
  fill_ranks(work.ranks, merges_, symbols, count);
  std::vector<uint32_t>& ranks = work.ranks;
  uint32_t lowest = *std::min_element(ranks.begin(), ranks.end());
  bool done = false;
  while (true) {
    if (lowest == MergeTable::kNoRank) {
      done = true;
      break;
    }
    const int result = merges_.result(lowest);
    uint32_t next_lowest = MergeTable::kNoRank;
    size_t out = 0;
    int last_left = -1, last_right = -1;
    uint32_t last_rank = MergeTable::kNoRank;
    bool left_is_new = false;
    for (size_t i = 0; i < count; ++out) {
      const bool joins = ranks[i] == lowest;
      Symbol symbol = symbols[i];
      uint32_t rank_after = ranks[i];
      if (joins) {
        symbol = {result, symbol.bytes + symbols[i + 1].bytes};
        rank_after = ranks[i + 1];
      }
      if (out > 0 && (joins || left_is_new)) {
        const int left = symbols[out - 1].id;
        if (left != last_left || symbol.id != last_right) {
          last_left = left;
          last_right = symbol.id;
          last_rank = merges_.rank(left, symbol.id);
        }
        ranks[out - 1] = last_rank;
      }
      if (out > 0) next_lowest = std::min(next_lowest, ranks[out - 1]);
      i += joins ? 2 : 1;
      symbols[out] = symbol;
      ranks[out] = rank_after;
      left_is_new = joins;
    }
    ranks[out - 1] = MergeTable::kNoRank;
    const size_t joined = count - out;
    count = out;
    lowest = next_lowest;
    if (!to_the_end && joined * kWorthAPass < count) break;
  }
  ranks.resize(count);
  work.symbols.resize(first + count);
  return done || lowest == MergeTable::kNoRank;
}

// All pairs of one rank from left to right, then the next rank: linear in the number of symbols. Comes after
// merge_in_passes, which leaves the ranks.
void BpeModel::merge_by_rank(Work& work, size_t first) const {
  Symbol* symbols = work.symbols.data() + first;
  const size_t count = work.symbols.size() - first;
  link_all(work.next, work.previous, count);
  std::vector<uint32_t>& ranks = work.ranks;
  std::vector<int32_t>& next = work.next;
  work.places.clear();
  work.heads.resize(merges_.ranks(), -1);  // all -1 and 0 again when done
  work.waiting.resize((merges_.ranks() + 63) / 64);
  const auto note = [&](int32_t at) {
    const uint32_t rank = ranks[at];
    if (rank == MergeTable::kNoRank) return;
    work.places.push_back({at, work.heads[rank]});
    work.heads[rank] = static_cast<int32_t>(work.places.size()) - 1;
    work.waiting[rank / 64] |= uint64_t{1} << (rank % 64);
  };
  const auto look = [&](int32_t at) {
    ranks[at] = next[at] < 0 ? MergeTable::kNoRank : merges_.rank(symbols[at].id, symbols[next[at]].id);
    note(at);
  };
  for (size_t i = 0; i < count; ++i) note(static_cast<int32_t>(i));
  for (size_t word = 0; word < work.waiting.size(); ++word) {
    while (work.waiting[word]) {
      const auto rank = static_cast<uint32_t>(word * 64 + static_cast<size_t>(__builtin_ctzll(work.waiting[word])));
      work.waiting[word] &= work.waiting[word] - 1;
      work.at_rank.clear();
      for (int32_t place = work.heads[rank]; place >= 0; place = work.places[place].next) {
        work.at_rank.push_back(work.places[place].at);
      }
      work.heads[rank] = -1;
      std::reverse(work.at_rank.begin(), work.at_rank.end());
      if (!std::is_sorted(work.at_rank.begin(), work.at_rank.end())) {
        std::sort(work.at_rank.begin(), work.at_rank.end());
      }
      for (const int32_t at : work.at_rank) {
        if (ranks[at] != rank) continue;
        const int32_t right = next[at];
        symbols[at].id = merges_.result(rank);
        symbols[at].bytes += symbols[right].bytes;
        ranks[right] = MergeTable::kNoRank;
        next[at] = next[right];
        if (next[right] >= 0) work.previous[next[right]] = at;
        look(at);
        if (work.previous[at] >= 0) look(work.previous[at]);
      }
    }
  }
  size_t kept = 0;
  for (int32_t at = 0; at >= 0; at = next[at]) symbols[kept++] = symbols[at];
  work.symbols.resize(first + kept);
}

}  // namespace wick
