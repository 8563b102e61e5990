#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace wick {
class TokenVocabulary;
}

namespace wick::grammar {

// Characters that a state reads in any order: some of ASCII and all others, or none of them.
struct RunCharacters {
  std::bitset<128> ascii;
  bool other = false;
  bool operator==(const RunCharacters&) const = default;
};

// A vocabulary seen from inside a run: which tokens stay in it, and where the others leave it. Depends on the
// characters only, so that every string of every schema shares one.
class RunIndex {
 public:
  RunIndex(const TokenVocabulary& vocabulary, const RunCharacters& characters);

  struct Exit {
    uint32_t node = 0;        // the first byte that is not of the run
    uint32_t characters = 0;  // of the run, before it
  };
  struct ByLength {
    std::vector<uint32_t> tokens;       // of the run, the longest first
    std::vector<uint32_t> longer_than;  // [c]: how many of them have more than c characters
  };

  const RunCharacters& characters() const { return characters_; }
  // A bit for each token of such characters only, the last perhaps cut off; and how many there are.
  const std::vector<uint32_t>& bits() const { return bits_; }
  size_t count() const { return count_; }
  uint32_t max_characters() const { return max_characters_; }
  const std::vector<Exit>& exits() const { return exits_; }
  // Made when first asked for: only runs of limited length need it.
  const ByLength& by_length() const;

 private:
  struct Interval {
    uint32_t begin = 0, end = 0;  // of sorted tokens
  };
  void walk();
  void allow(uint32_t begin, uint32_t end);
  bool is_inside(uint32_t node) const;

  const TokenVocabulary& vocabulary_;
  RunCharacters characters_;
  std::vector<uint32_t> bits_;
  size_t count_ = 0;
  uint32_t max_characters_ = 0;
  std::vector<Exit> exits_;
  std::vector<Interval> tokens_;
  mutable std::once_flag once_;
  mutable ByLength by_length_;
};

// The indexes of one vocabulary, made when first asked for. Thread-safe. Must not outlive the vocabulary.
class RunIndexes {
 public:
  std::shared_ptr<const RunIndex> get(const TokenVocabulary& vocabulary, const RunCharacters& characters);

 private:
  static constexpr size_t kMaxIndexes = 16;

  std::mutex mutex_;
  std::vector<std::shared_ptr<const RunIndex>> indexes_;  // used last at the end
};

}  // namespace wick::grammar
