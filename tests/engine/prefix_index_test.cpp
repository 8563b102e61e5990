// The index against a plain list of known prefixes, on texts of few symbols, so that they part and meet all the time.
#include "engine/kv/prefix_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

using Tokens = std::vector<int32_t>;
using State = std::shared_ptr<const RecurrentState>;

State state_of(int64_t floats) {
  RecurrentState state;
  state.tensors.push_back(zeros({floats}));
  return std::make_shared<const RecurrentState>(std::move(state));
}

// One symbol per block: blocks that differ in their last or first token only.
Tokens text_of(std::string_view symbols) {
  Tokens tokens;
  for (const char symbol : symbols) {
    const size_t begin = tokens.size();
    tokens.resize(begin + kKvBlockTokens, 5);
    if (symbol == 'b') tokens.back() = 6;
    if (symbol == 'c') tokens[begin] = 6;
  }
  return tokens;
}

// Every known prefix by itself: the last block of each, and when it was last used.
class PlainIndex {
 public:
  explicit PlainIndex(int64_t most_state_bytes) : most_state_bytes_(most_state_bytes) {}

  struct Found {
    std::vector<int32_t> blocks;
    State state;
  };
  Found match(const Tokens& text, int64_t most_tokens, bool needs_state) {
    ++time_;
    int64_t found = 0;
    const int64_t most = std::min<int64_t>(most_tokens, static_cast<int64_t>(text.size())) / kKvBlockTokens;
    for (int64_t count = 1; count <= most && known_.contains(prefix(text, count)); ++count) {
      if (!needs_state || known_.at(prefix(text, count)).state) found = count;
    }
    (found > 0 ? hits : misses) += 1;
    Found result;
    for (int64_t count = 1; count <= found; ++count) {
      Entry& entry = known_.at(prefix(text, count));
      entry.used = time_;
      result.blocks.push_back(entry.block);
      if (needs_state && count == found) {
        entry.state_used = time_;
        result.state = entry.state;
      }
    }
    return result;
  }

  void insert(const Tokens& text, const std::vector<int32_t>& blocks, const State& state) {
    ++time_;
    const auto all = std::min<int64_t>(static_cast<int64_t>(text.size()) / kKvBlockTokens, std::ssize(blocks));
    for (int64_t count = 1; count <= all; ++count) {
      const int32_t block = blocks[static_cast<size_t>(count - 1)];
      if (!known_.contains(prefix(text, count))) {
        if (block == kNoBlock) return;
        known_[prefix(text, count)].block = block;
      }
      known_.at(prefix(text, count)).used = time_;
    }
    if (!state || all == 0) return;
    Entry& last = known_.at(prefix(text, all));
    if (!last.state) {
      if (state->bytes() > most_state_bytes_) return;
      while (state_bytes() + state->bytes() > most_state_bytes_) {
        Entry* oldest = nullptr;
        for (auto& [_, entry] : known_) {
          if (entry.state && (!oldest || entry.state_used < oldest->state_used)) oldest = &entry;
        }
        oldest->state = nullptr;
      }
      last.state = state;
    }
    last.state_used = time_;
  }

  // `users`: of each block, but for the index.
  int64_t evict(int64_t wanted, const std::vector<int>& users) {
    int64_t freed = 0;
    while (freed < wanted && idle(users) > 0) {
      std::optional<Tokens> free_end, covering_end;
      for (const auto& [text, entry] : known_) {
        if (has_longer(text)) continue;
        const auto older = [&, used = entry.used](const auto& end) { return !end || used < known_.at(*end).used; };
        const bool is_idle = users[static_cast<size_t>(entry.block)] == 0;
        if (is_idle && older(free_end)) free_end = text;
        if (!is_idle && covers(text, users) && older(covering_end)) covering_end = text;
      }
      if (free_end) ++freed;
      known_.erase(free_end ? *free_end : covering_end.value());
    }
    evictions += freed;
    return freed;
  }

  int64_t idle(const std::vector<int>& users) const {
    return std::count_if(known_.begin(), known_.end(),
                         [&](const auto& each) { return users[static_cast<size_t>(each.second.block)] == 0; });
  }
  int64_t state_bytes() const {
    int64_t sum = 0;
    for (const auto& [_, entry] : known_) sum += entry.state ? entry.state->bytes() : 0;
    return sum;
  }
  std::vector<int32_t> blocks() const {
    std::vector<int32_t> all;
    for (const auto& [_, entry] : known_) all.push_back(entry.block);
    return all;
  }

  int64_t hits = 0, misses = 0, evictions = 0;

 private:
  struct Entry {
    int32_t block = -1;
    int64_t used = 0, state_used = 0;
    State state;
  };
  static Tokens prefix(const Tokens& text, int64_t blocks) {
    return {text.begin(), text.begin() + blocks * kKvBlockTokens};
  }
  bool has_longer(const Tokens& text) const {
    const auto next = known_.upper_bound(text);
    return next != known_.end() && std::equal(text.begin(), text.end(), next->first.begin(),
                                              next->first.begin() + std::min(text.size(), next->first.size()));
  }
  bool covers(const Tokens& text, const std::vector<int>& users) const {
    for (int64_t count = 1; count * kKvBlockTokens <= std::ssize(text); ++count) {
      if (users[static_cast<size_t>(known_.at(prefix(text, count)).block)] == 0) return true;
    }
    return false;
  }

  int64_t most_state_bytes_, time_ = 0;
  std::map<Tokens, Entry> known_;
};

// Sequences that come, grow, lose what lies before a window and go, in a small pool.
class Traffic {
 public:
  Traffic(uint32_t seed, int64_t blocks, int64_t longest)
      : random_(seed), longest_(longest), pool_(blocks), index_(pool_, kStateBytes), plain_(kStateBytes) {}

  void step() {
    if (running_.size() > 4) end();
    switch (below(8)) {
      case 0:
      case 1: return begin(true);
      case 2: return begin(false);
      case 3:
      case 4: return grow();
      case 5: return give_up();
      case 6: return evict(1 + below(5));
      default: return end();
    }
  }

  void check() {
    const std::vector<int> users = this->users();
    const std::vector<int32_t> known = plain_.blocks();
    ASSERT_EQ(index_.blocks(), std::ssize(known));
    ASSERT_EQ(index_.reclaimable(), plain_.idle(users));
    for (int32_t block = 0; block < pool_.total(); ++block) {
      const bool is_known = std::find(known.begin(), known.end(), block) != known.end();
      ASSERT_EQ(index_.holds(block), is_known) << "block " << block;
      ASSERT_EQ(pool_.uses(block), users[static_cast<size_t>(block)] + (is_known ? 1 : 0)) << "block " << block;
    }
    ASSERT_EQ(pool_.taken() - pool_.freed(), pool_.total() - pool_.free());
    ASSERT_EQ(index_.state_bytes(), plain_.state_bytes());
    ASSERT_LE(index_.state_bytes(), kStateBytes);
    const PrefixCounters& counters = index_.counters();
    ASSERT_EQ(counters.hits, plain_.hits);
    ASSERT_EQ(counters.misses, plain_.misses);
    ASSERT_EQ(counters.evictions, plain_.evictions);
  }

  void finish() {
    index_.clear();
    EXPECT_EQ(index_.blocks(), 0);
    EXPECT_EQ(index_.state_bytes(), 0);
    EXPECT_EQ(index_.counters().states_saved, index_.counters().states_dropped);
    while (!running_.empty()) end();
    EXPECT_EQ(pool_.free(), pool_.total());
    EXPECT_EQ(pool_.taken(), pool_.freed());
  }

  const PrefixCounters& counters() const { return index_.counters(); }

 private:
  static constexpr int64_t kStateBytes = 400;
  struct Sequence {
    Tokens text;
    std::vector<int32_t> blocks;
  };

  int64_t below(int64_t end) { return static_cast<int64_t>(random_() % static_cast<uint32_t>(end)); }

  std::vector<int> users() const {
    std::vector<int> users(static_cast<size_t>(pool_.total()));
    for (const Sequence& sequence : running_) {
      for (const int32_t block : sequence.blocks) {
        if (block != kNoBlock) ++users[static_cast<size_t>(block)];
      }
    }
    return users;
  }

  void append_symbols(Tokens& text, int64_t count) {
    std::string symbols;
    for (int64_t i = 0; i < count; ++i) symbols += "aaabbc"[below(6)];
    const Tokens more = text_of(symbols);
    text.insert(text.end(), more.begin(), more.end());
  }

  void begin(bool uses_index) {
    Sequence sequence;
    append_symbols(sequence.text, 1 + below(longest_));
    const bool needs_state = below(3) == 0;
    const int64_t most = below(4) == 0 ? below(std::ssize(sequence.text) + 40) - 20 : std::ssize(sequence.text) - 1;
    if (uses_index) {
      const PrefixIndex::Peek peeked = index_.peek(sequence.text, most, needs_state);
      const int64_t idle = pool_.idle();
      PrefixMatch match = index_.match(sequence.text, most, needs_state);
      const PlainIndex::Found expected = plain_.match(sequence.text, most, needs_state);
      ASSERT_EQ(match.blocks, expected.blocks);
      ASSERT_EQ(match.state, expected.state);
      ASSERT_EQ(match.tokens, std::ssize(expected.blocks) * kKvBlockTokens);
      ASSERT_EQ(peeked.tokens, match.tokens);
      ASSERT_EQ(peeked.idle_blocks, idle - pool_.idle());
      sequence.blocks = std::move(match.blocks);
    }
    running_.push_back(std::move(sequence));
    fill(running_.back());
  }

  void grow() {
    if (running_.empty()) return;
    Sequence& sequence = running_[static_cast<size_t>(below(std::ssize(running_)))];
    append_symbols(sequence.text, 1 + below(2));
    fill(sequence);
  }

  // Blocks for the whole text, some of them from the index if need be, and the text into the index.
  void fill(Sequence& sequence) {
    const int64_t missing = std::ssize(sequence.text) / kKvBlockTokens - std::ssize(sequence.blocks) - pool_.free();
    if (missing > 0) evict(missing);
    if (!pool_.try_grow(sequence.blocks, std::ssize(sequence.text))) {
      sequence.text.resize(sequence.blocks.size() * kKvBlockTokens);
    }
    const State state = below(3) == 0 ? state_of(1 + below(30)) : nullptr;
    Tokens text = sequence.text;
    if (!state) text.resize(text.size() - static_cast<size_t>(below(std::ssize(text) + 1)) / 3);
    index_.insert(text, sequence.blocks, state);
    plain_.insert(text, sequence.blocks, state);
  }

  void give_up() {
    if (running_.empty()) return;
    Sequence& sequence = running_[static_cast<size_t>(below(std::ssize(running_)))];
    const auto held = [&] {
      return std::count_if(sequence.blocks.begin(), sequence.blocks.end(), [](int32_t b) { return b >= 0; });
    };
    const auto before = held();
    const int64_t given = pool_.give_up(sequence.blocks, below(std::ssize(sequence.text) + 1));
    ASSERT_EQ(given, before - held());
  }

  void evict(int64_t count) {
    const int64_t free = pool_.free(), reclaimable = index_.reclaimable();
    const std::vector<int> users = this->users();
    const int64_t freed = index_.evict(count);
    ASSERT_EQ(freed, std::min(count, reclaimable));
    ASSERT_EQ(freed, plain_.evict(count, users));
    ASSERT_EQ(pool_.free() - free, freed);
  }

  void end() {
    if (running_.empty()) return;
    const auto which = running_.begin() + below(std::ssize(running_));
    pool_.shrink(which->blocks, 0);
    running_.erase(which);
  }

  std::mt19937 random_;
  int64_t longest_;
  BlockPool pool_;
  PrefixIndex index_;
  PlainIndex plain_;
  std::vector<Sequence> running_;
};

class PrefixTrafficTest : public testing::TestWithParam<uint32_t> {};

TEST_P(PrefixTrafficTest, DoesWhatAPlainListDoes) {
  // Few blocks for long texts, and more than are ever used.
  for (const auto& [blocks, longest] : {std::pair<int64_t, int64_t>{12, 5}, {40, 7}, {100, 12}, {1, 2}}) {
    SCOPED_TRACE(cat(blocks, " blocks"));
    Traffic traffic(GetParam(), blocks, longest);
    for (int i = 0; i < 2500; ++i) {
      traffic.step();
      traffic.check();
      if (HasFatalFailure()) FAIL() << "at step " << i;
    }
    if (blocks == 40) {
      EXPECT_GT(traffic.counters().splits, 200);
      EXPECT_GT(traffic.counters().evictions, 500);
      EXPECT_GT(traffic.counters().states_dropped, 200);
    }
    traffic.finish();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, PrefixTrafficTest, testing::Values(1, 2, 3, 4));

// The texts in a fresh index, each with blocks of its own.
class PrefixIndexTest : public testing::Test {
 protected:
  std::vector<int32_t> add(std::string_view symbols, const State& state = nullptr) {
    std::vector<int32_t> blocks;
    EXPECT_TRUE(pool_.try_grow(blocks, std::ssize(symbols) * kKvBlockTokens));
    index_.insert(text_of(symbols), blocks, state);
    std::vector<int32_t> taken = blocks;
    pool_.shrink(taken, 0);
    return blocks;
  }
  std::vector<int32_t> find(std::string_view symbols) {
    std::vector<int32_t> blocks = index_.match(text_of(symbols), 1000).blocks, found = blocks;
    pool_.shrink(blocks, 0);
    return found;
  }

  BlockPool pool_{64};
  PrefixIndex index_{pool_, 1000};
};

TEST_F(PrefixIndexTest, TextsShareWhatTheyBeginWith) {
  const std::vector<int32_t> first = add("aabbc");
  const std::vector<int32_t> second = add("aabca");
  EXPECT_EQ(index_.blocks(), 7);
  EXPECT_EQ(index_.counters().splits, 1);
  EXPECT_EQ(pool_.free(), 64 - 7);
  EXPECT_EQ(find("aabbcaaa"), first);
  EXPECT_EQ(find("aabc"), (std::vector<int32_t>{first[0], first[1], first[2], second[3]}));
  EXPECT_EQ(find("b"), std::vector<int32_t>());
  EXPECT_EQ(index_.counters().hits, 2);
  EXPECT_EQ(index_.counters().misses, 1);
  EXPECT_EQ(index_.match(text_of("a"), 15).tokens, 0);
  EXPECT_EQ(index_.match(Tokens(), 100).tokens, 0);
  EXPECT_EQ(index_.match(text_of("aa"), -1).tokens, 0);
}

// Texts end and part inside blocks.
TEST_F(PrefixIndexTest, PartsOfBlocksAreFound) {
  Tokens text = text_of("ab");
  text.insert(text.end(), {1, 2, 3, 4, 5});
  std::vector<int32_t> blocks;
  ASSERT_TRUE(pool_.try_grow(blocks, std::ssize(text)));
  index_.insert(std::span(text).first(32), std::span(blocks).first(2));
  index_.insert_partial(text, blocks[2]);
  const int32_t end = blocks[2];
  std::vector<int32_t> taken = blocks;
  pool_.shrink(taken, 0);
  EXPECT_EQ(index_.blocks(), 3);

  Tokens other = text_of("ab");
  other.insert(other.end(), {1, 2, 3, 9, 9, 9});
  EXPECT_EQ(index_.take_partial(text_of("cc"), 32), std::nullopt);
  EXPECT_EQ(index_.take_partial(other, 32), std::nullopt) << "no token of the last block is asked for";
  // In the middle of a run: others need the block as it is.
  const auto inside = index_.take_partial(text_of("aa"), 32);
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->block, blocks[1]);
  EXPECT_EQ(inside->begin, 16);
  EXPECT_EQ(inside->tokens, 15);
  EXPECT_EQ(pool_.uses(blocks[1]), 2);
  pool_.release(blocks[1]);
  // At the end: whoever takes it has it alone.
  const auto last = index_.take_partial(other, std::ssize(other));
  ASSERT_TRUE(last);
  EXPECT_EQ(last->block, end);
  EXPECT_EQ(last->begin, 32);
  EXPECT_EQ(last->tokens, 3);
  EXPECT_FALSE(index_.holds(end));
  EXPECT_EQ(pool_.uses(end), 1);
  EXPECT_EQ(index_.take_partial(other, std::ssize(other)), std::nullopt);
}

TEST_F(PrefixIndexTest, OfPartialBlocksTheOneWithMostInCommonIsTaken) {
  const Tokens ends[] = {{1, 2}, {1, 2, 3, 7}, {1, 2, 4}, {1, 3}, {0}};
  std::vector<int32_t> ids;
  for (const Tokens& end : ends) {
    ids.push_back(*pool_.try_take());
    index_.insert_partial(end, ids.back());
    pool_.release(ids.back());
  }
  EXPECT_EQ(index_.blocks(), 5);
  const auto take = [&](const Tokens& text) {
    const auto found = index_.take_partial(text, std::ssize(text));
    if (found) pool_.release(found->block);
    return found ? std::pair(found->block, found->tokens) : std::pair(kNoBlock, int64_t{0});
  };
  EXPECT_EQ(take({1, 2, 3, 4, 5}), std::pair(ids[1], int64_t{3}));
  EXPECT_EQ(take({1, 2, 4, 4}), std::pair(ids[2], int64_t{3}));
  EXPECT_EQ(take({1, 2, 4, 4}), std::pair(ids[0], int64_t{2}));
  EXPECT_EQ(take({1, 2, 4, 4}), std::pair(ids[3], int64_t{1}));
  EXPECT_EQ(take({1, 2}), std::pair(kNoBlock, int64_t{0}));
  EXPECT_EQ(pool_.free(), 63);
}

TEST_F(PrefixIndexTest, AStateCountsOnlyBehindAllOfItsTokens) {
  const Tokens text = {1, 2, 3, 4}, other = {1, 2, 3, 5};
  const int32_t block = *pool_.try_take();
  const State state = state_of(4);
  index_.insert_partial(text, block, state);
  pool_.release(block);
  EXPECT_EQ(index_.state_bytes(), 16);
  EXPECT_EQ(index_.take_partial(other, 4, true), std::nullopt);
  EXPECT_EQ(index_.take_partial(text, 3, true), std::nullopt);
  const auto found = index_.take_partial(text, 4, true);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->state, state);
  EXPECT_EQ(found->tokens, 4);
  EXPECT_EQ(index_.state_bytes(), 0);
}

TEST_F(PrefixIndexTest, SaltsShareNothing) {
  const Tokens text = text_of("ab");
  const auto take = [&](int count) {
    std::vector<int32_t> blocks;
    EXPECT_TRUE(pool_.try_grow(blocks, count * kKvBlockTokens));
    return blocks;
  };
  std::vector<int32_t> mine = take(2), theirs = take(2), part = take(1);
  index_.insert({text, "me"}, mine);
  EXPECT_EQ(index_.peek(text, 32).tokens, 0);
  EXPECT_EQ(index_.peek({text, "them"}, 32).tokens, 0);
  EXPECT_EQ(index_.peek({text, "me"}, 32).tokens, 32);
  index_.insert({text, "them"}, theirs);
  index_.insert_partial({std::span(text).first(5), "third"}, part.front());
  EXPECT_FALSE(index_.take_partial({text, "fourth"}, 20));
  EXPECT_EQ(index_.take_partial({text, "third"}, 20)->block, part.front());
  for (const auto& [salt, blocks] : {std::pair{"me", mine}, {"them", theirs}}) {
    const PrefixMatch match = index_.match({text, salt}, 32);
    EXPECT_EQ(match.blocks, blocks) << salt;
    for (const int32_t block : match.blocks) pool_.release(block);
  }
  for (auto* blocks : {&mine, &theirs}) pool_.shrink(*blocks, 0);
  pool_.release(part.front());
  pool_.release(part.front());  // what take_partial() shared
  EXPECT_EQ(index_.evict(100), 5);
  EXPECT_EQ(index_.blocks(), 0);
  EXPECT_EQ(index_.peek({text, "me"}, 32).tokens, 0);
}

TEST_F(PrefixIndexTest, ALastTokenOutsideTheBlockIsNotLookedAt) {
  const std::vector<int32_t> blocks = add("ab");
  Tokens text = text_of("abc");
  for (size_t length = 32; length < 48; ++length) {
    PrefixMatch match = index_.match(std::span(text).first(length), static_cast<int64_t>(length));
    EXPECT_EQ(match.blocks, blocks) << length;
    pool_.shrink(match.blocks, 0);
  }
  PrefixMatch shorter = index_.match(std::span(text).first(32), 31);
  EXPECT_EQ(shorter.tokens, 16);
}

TEST_F(PrefixIndexTest, WhatWasUsedLongestAgoGoesFirst) {
  const std::vector<int32_t> old = add("aaa"), young = add("bb");
  EXPECT_EQ(find("aa").size(), 2u);  // its end is not used
  EXPECT_EQ(index_.evict(1), 1);
  EXPECT_EQ(find("aaa"), (std::vector<int32_t>{old[0], old[1]}));
  EXPECT_EQ(index_.evict(2), 2);
  EXPECT_EQ(find("bb").size(), 0u);
  EXPECT_EQ(find("aaa").size(), 2u);
  EXPECT_EQ(index_.evict(100), 2);
  EXPECT_EQ(index_.evict(1), 0);
  EXPECT_EQ(index_.evict(-3), 0);
  EXPECT_EQ(pool_.free(), 64);
}

TEST_F(PrefixIndexTest, BlocksInUseAreNotFreed) {
  add("aab");
  PrefixMatch held = index_.match(text_of("aa"), 32);
  EXPECT_EQ(index_.reclaimable(), 1);
  EXPECT_EQ(index_.evict(3), 1);
  EXPECT_EQ(find("aab").size(), 2u);
  pool_.shrink(held.blocks, 0);
  EXPECT_EQ(index_.reclaimable(), 2);
}

TEST_F(PrefixIndexTest, IdleBlocksBeforeBlocksInUseCanBeFreed) {
  add("aa");
  std::vector<int32_t> own;  // the same text computed at the same time, and more of it
  ASSERT_TRUE(pool_.try_grow(own, 4 * kKvBlockTokens));
  index_.insert(text_of("aabb"), own);
  EXPECT_EQ(index_.blocks(), 4);
  EXPECT_EQ(index_.reclaimable(), 2);
  EXPECT_EQ(index_.evict(1), 1);
  EXPECT_EQ(index_.blocks(), 1);
  EXPECT_EQ(pool_.uses(own[3]), 1);
  EXPECT_EQ(find("aabb").size(), 1u);
}

TEST_F(PrefixIndexTest, GivenUpBlocksEndWhatIsNew) {
  std::vector<int32_t> blocks;
  ASSERT_TRUE(pool_.try_grow(blocks, 4 * kKvBlockTokens));
  pool_.give_up(blocks, 2 * kKvBlockTokens + 15);
  EXPECT_EQ(blocks[1], kNoBlock);
  index_.insert(text_of("abab"), blocks, state_of(1));
  EXPECT_EQ(index_.blocks(), 0);
  EXPECT_EQ(index_.state_bytes(), 0);
  add("ab");
  index_.insert(text_of("abab"), blocks);
  EXPECT_EQ(index_.blocks(), 4);
}

TEST_F(PrefixIndexTest, StatesAreFoundAtTheirPlaces) {
  const State at_two = state_of(10), at_four = state_of(20);
  std::vector<int32_t> blocks;
  ASSERT_TRUE(pool_.try_grow(blocks, 5 * kKvBlockTokens));
  const Tokens text = text_of("abcab");
  index_.insert(text, blocks);
  EXPECT_EQ(index_.match(text, 80, true).tokens, 0);
  index_.insert(std::span(text).first(32), std::span(blocks).first(2), at_two);
  index_.insert(std::span(text).first(64), std::span(blocks).first(4), at_four);
  EXPECT_EQ(index_.state_bytes(), 120);
  EXPECT_EQ(index_.match(text, 80, true).state, at_four);
  EXPECT_EQ(index_.match(text, 63, true).state, at_two);
  EXPECT_EQ(index_.match(text, 63, false).state, nullptr);
  EXPECT_EQ(index_.match(text, 63, false).tokens, 48);
  EXPECT_EQ(index_.peek(text, 63, true).tokens, 32);
  EXPECT_ERROR(index_.insert(text, std::span(blocks).first(4), at_two), kInternal, "a state behind 80 tokens");
}

TEST_F(PrefixIndexTest, StatesUsedLongestAgoMakeRoom) {
  const State first = state_of(100), second = state_of(100), third = state_of(100);  // 400 of 1000 bytes each
  add("aa", first);
  add("bb", second);
  EXPECT_EQ(index_.match(text_of("aa"), 32, true).state, first);
  add("cc", third);
  EXPECT_EQ(index_.match(text_of("bb"), 32, true).state, nullptr);
  EXPECT_EQ(index_.match(text_of("aa"), 32, true).state, first);
  EXPECT_EQ(index_.match(text_of("cc"), 32, true).state, third);
  EXPECT_EQ(index_.counters().states_saved, 3);
  EXPECT_EQ(index_.counters().states_dropped, 1);
  add("ca", state_of(251));  // more than there is room for at all
  EXPECT_EQ(index_.state_bytes(), 800);
  EXPECT_EQ(first.use_count(), 2);
}

TEST_F(PrefixIndexTest, EveryBlockOfALongTextMayEndARun) {
  BlockPool pool(20000);
  PrefixIndex index(pool, int64_t{1} << 30);
  std::vector<int32_t> blocks;
  ASSERT_TRUE(pool.try_grow(blocks, pool.total() * kKvBlockTokens));
  const Tokens text(static_cast<size_t>(pool.total() * kKvBlockTokens), 3);
  const State state = state_of(1);
  // States at every end: a node each.
  for (size_t count = 1; count <= 300; ++count) {
    index.insert(std::span(text).first(count * kKvBlockTokens), std::span(blocks).first(count), state);
  }
  index.insert(text, blocks);
  pool.shrink(blocks, 0);
  EXPECT_EQ(index.reclaimable(), pool.total());
  EXPECT_EQ(index.evict(pool.total() - 5), pool.total() - 5);
  EXPECT_EQ(index.peek(text, std::ssize(text), true).tokens, 5 * kKvBlockTokens);
  index.clear();
  EXPECT_EQ(pool.free(), pool.total());
}

TEST_F(PrefixIndexTest, MistakesAreErrors) {
  const std::vector<int32_t> blocks = add("ab");
  EXPECT_ERROR(index_.insert(text_of("c"), std::vector<int32_t>{blocks[0]}), kInternal, "is indexed twice");
  EXPECT_ERROR(index_.insert(text_of("c"), std::vector<int32_t>{63}), kInternal, "block 63 is indexed, but not in use");
  EXPECT_ERROR(index_.insert(text_of("c"), std::vector<int32_t>{64}), kInternal, "block 64 is indexed, but not in use");
  EXPECT_ERROR(pool_.release(blocks[0]), kInternal, "the index's alone");
  EXPECT_EQ(index_.blocks(), 2);
  EXPECT_EQ(find("ab"), blocks);
}

}  // namespace
}  // namespace wick
