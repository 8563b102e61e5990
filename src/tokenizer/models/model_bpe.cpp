#include "tokenizer/models/model_bpe.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/utf8.h"
#include "tokenizer/models/word_cache.h"
#include "tokenizer/stages/byte_level.h"
#include "tokenizer/stages/byte_tokens.h"
#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

constexpr size_t kFewSymbols = 64;    // up to here, looking at all pairs beats a queue
constexpr size_t kManySymbols = 512;  // from here on, a list per rank beats a queue
constexpr size_t kChunk = 24;         // bytes; longer words are merged in chunks of about so many
constexpr size_t kFewTokens = 5;      // in a chunk: the next may be longer
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
    if (reads_bytes_ && piece.size() <= 2 && !options_.ignore_merges) {
      add_one_or_two(piece, range.begin, sink);
      continue;
    }
    WordCache::Entry* const entry = piece.size() <= WordCache::kMaxBytes ? &cache.place(owner_, piece) : nullptr;
    if (entry && WordCache::holds(*entry, owner_, piece)) {
      WordCache::write(*entry, range.begin, sink);
      continue;
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
      WordCache::start(*entry, owner_, piece);
      for (const Symbol& symbol : work.symbols) WordCache::add(*entry, symbol.id, symbol.bytes);
    }
  }
}

void BpeModel::add_one_or_two(std::string_view bytes, uint32_t at, TokenSink& sink) const {
  const auto first = static_cast<unsigned char>(bytes[0]), last = static_cast<unsigned char>(bytes.back());
  if (bytes.size() == 1) return sink.add(byte_ids_[first], at, at + 1);
  if (const uint32_t rank = byte_ranks_[first << 8 | last]; rank != MergeTable::kNoRank) {
    return sink.add(merges_.result(rank), at, at + 2);
  }
  sink.add(byte_ids_[first], at, at + 1);
  sink.add(byte_ids_[last], at + 1, at + 2);
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
  if (reads_bytes_ && piece.size() > kChunk) return encode_long(piece, work);
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
      WordCache::start(*entry, owner_, word);
      for (size_t i = first; i < first + count; ++i) {
        WordCache::add(*entry, work.symbols[i].id, work.symbols[i].bytes);
      }
    }
    work.complete = work.complete && complete_before;
  }
}

// Whether two tokens side by side stay two: merged on their own, their bytes give them again.
bool BpeModel::stay_apart(std::string_view bytes, size_t left, Work& work) const {
  const size_t first = work.symbols.size();
  const int left_id = work.symbols[left].id, right_id = work.symbols[left + 1].id;
  encode_word(bytes, work);
  const bool same =
      work.symbols.size() == first + 2 && work.symbols[first].id == left_id && work.symbols[first + 1].id == right_id;
  work.symbols.resize(first);
  return same;
}

// In chunks, so that the work stays near. Tokens of two neighbouring texts are those of the whole exactly if the two at
// the seam stay apart: nothing further away can make a pair cross it. Where they do not, or where a chunk is all one
// token, it starts earlier and becomes longer, by twice as much each time: each try reaches further by half its length.
void BpeModel::encode_long(std::string_view word, Work& work) const {
  const size_t first = work.symbols.size();
  size_t begin = 0, chunk = kChunk, taken_back = 1;
  while (begin < word.size()) {
    const size_t end = std::min(begin + chunk, word.size());
    size_t seam = work.symbols.size();
    encode_word(word.substr(begin, end - begin), work);
    if (seam > first) {
      const uint32_t before = work.symbols[seam - 1].bytes, after = work.symbols[seam].bytes;
      if (!stay_apart(word.substr(begin - before, before + after), seam - 1, work)) {
        for (size_t i = 0; i < taken_back && seam > first; ++i) begin -= work.symbols[--seam].bytes;
        work.symbols.resize(seam);
        taken_back *= 2;
        chunk = 2 * (end - begin);
        continue;
      }
    }
    if (end == word.size()) return;
    if (work.symbols.size() - seam == 1) {
      work.symbols.resize(seam);
      chunk *= 2;
      continue;
    }
    const size_t found = work.symbols.size() - seam;
    begin = end - work.symbols.back().bytes;  // the last token may go on behind the chunk
    work.symbols.pop_back();
    if (found < kFewTokens) chunk *= 2;  // they are long
    if (found > 2 * kFewTokens) chunk = std::max(kChunk, chunk / 2);
    taken_back = 1;
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
  if (merges_.in_order() && merge_in_passes(work, first)) return;
  const size_t left = work.symbols.size() - first;
  if (left <= kFewSymbols) return merge_few(work, first);
  if (left < kManySymbols || !merges_.in_order()) return merge_by_heap(work, first);
  merge_by_rank(work, first);
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
  std::array<uint64_t, kFewSymbols> pairs;  // rank, then place of the left symbol
  Symbol* symbols = work.symbols.data() + first;
  size_t count = work.symbols.size() - first;
  const auto key = [](uint32_t rank, size_t at) { return uint64_t{rank} << 32 | at; };
  const bool known = work.ranks.size() + 1 >= count;  // from splitting or from passes
  for (size_t i = 0; i + 1 < count; ++i) {
    pairs[i] = key(known ? work.ranks[i] : merges_.rank(symbols[i].id, symbols[i + 1].id), i);
  }
  std::array<uint8_t, kFewSymbols + 2> next, previous;  // of places plus one; 0 and count + 1 are the ends
  for (size_t i = 0; i < count + 2; ++i) {
    next[i] = static_cast<uint8_t>(i + 1);
    previous[i] = static_cast<uint8_t>(i - 1);
  }
  constexpr uint64_t kNone = uint64_t{MergeTable::kNoRank} << 32;
  pairs[count - 1] = kNone;
  for (;;) {
    uint64_t lowest = kNone, other = kNone;
    for (size_t i = 0; i + 1 < count; i += 2) {
      lowest = std::min(lowest, pairs[i]);
      other = std::min(other, pairs[i + 1]);
    }
    lowest = std::min(lowest, other);
    if (lowest >= kNone) break;
    const auto at = static_cast<size_t>(lowest & UINT32_MAX);
    const size_t right = next[at + 1] - size_t{1}, after = next[right + 1];
    symbols[at] = {merges_.result(static_cast<uint32_t>(lowest >> 32)), symbols[at].bytes + symbols[right].bytes};
    pairs[right] = kNone;
    next[at + 1] = static_cast<uint8_t>(after);
    previous[after] = static_cast<uint8_t>(at + 1);
    pairs[at] = after > count ? kNone : key(merges_.rank(symbols[at].id, symbols[after - 1].id), at);
    if (const size_t before = previous[at + 1]; before > 0) {
      pairs[before - 1] = key(merges_.rank(symbols[before - 1].id, symbols[at].id), before - 1);
    }
  }
  size_t kept = 0;
  for (size_t at = 1; at <= count; at = next[at]) symbols[kept++] = symbols[at - 1];
  work.symbols.resize(first + kept);
}

namespace {

// Fills `ranks` for all pairs, unless splitting did it, with kNoRank after the last symbol.
template <typename Symbol>
void fill_ranks(std::vector<uint32_t>& ranks, const MergeTable& merges, const Symbol* symbols, size_t count) {
  if (ranks.size() == count) return;  // merge_in_passes has left them
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

// The symbol at `at` takes in the one behind it and becomes `id`.
template <typename Symbol>
void join_with_next(Symbol* symbols, std::vector<uint32_t>& ranks, std::vector<int32_t>& next,
                    std::vector<int32_t>& previous, int32_t at, decltype(Symbol::id) id) {
  const int32_t right = next[at];
  symbols[at].id = id;
  symbols[at].bytes += symbols[right].bytes;
  ranks[right] = MergeTable::kNoRank;
  next[at] = next[right];
  if (next[right] >= 0) previous[next[right]] = at;
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
    join_with_next(symbols, ranks, work.next, work.previous, at, merges_.result(rank));
    look(at);
    if (work.previous[at] >= 0) look(work.previous[at]);
  }
  size_t kept = 0;
  for (int32_t at = 0; at >= 0; at = next[at]) symbols[kept++] = symbols[at];
  work.symbols.resize(first + kept);
}

// Joins all pairs of the lowest rank in one pass over the symbols, as long as that joins many: good for text that
// repeats itself. False when there is more to join; the ranks are then up to date.
bool BpeModel::merge_in_passes(Work& work, size_t first) const {
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
    if ((joined == 1 && count > 10) || joined * kWorthAPass < count) break;
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
        join_with_next(symbols, ranks, work.next, work.previous, at, merges_.result(rank));
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
