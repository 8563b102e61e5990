#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/function_ref.h"
#include "tokenizer/vocabulary.h"

namespace wick {

// Finds the pieces of merges. Look-ups of one merge wait for memory while the next ones are given.
class MergeFinder {
 public:
  struct Merge {
    std::string_view left, right;  // must live until it is reported
    uint32_t rank = 0;
    int left_id = Vocabulary::kNone, right_id = Vocabulary::kNone, result = Vocabulary::kNone;  // kNone: no such piece
  };
  using Found = FunctionRef<void(const Merge& merge)>;

  // `found` must live longer and hears of each merge, in order. The result is the left piece and the right one without
  // the prefix; there is none when it does not begin with that.
  MergeFinder(const Vocabulary& vocabulary, std::string_view continuing_prefix, Found found)
      : vocabulary_(vocabulary), continuing_prefix_(continuing_prefix), found_(found) {}

  void add(std::string_view left, std::string_view right);  // in the order of their ranks
  void finish();

 private:
  struct Pending {
    Merge merge;
    uint64_t left_hash = 0, right_hash = 0;
  };
  void tell(Pending& pending);

  const Vocabulary& vocabulary_;
  std::string_view continuing_prefix_;
  Found found_;
  std::array<Pending, 16> pending_;
  uint32_t added_ = 0;
  int last_result_ = Vocabulary::kNone;
  std::string joined_;
};

}  // namespace wick
