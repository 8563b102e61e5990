#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grammar/automaton/run_index.h"

namespace wick::grammar {

// Which tokens may come next, stored as whatever is shortest.
struct TokenMask {
  enum class Kind : uint8_t {
    kOnly,    // `tokens`
    kAllBut,  // all text tokens but `tokens`
    kBits,    // `bits`
    kRun,     // those of `run` but for its `too_long` longest ones and `removed`; and `tokens`
  };
  Kind kind = Kind::kOnly;
  std::vector<uint32_t> tokens;
  std::vector<uint32_t> bits;
  std::shared_ptr<const RunIndex> run;
  uint32_t too_long = 0;
  std::vector<uint32_t> removed;
  bool any = false;  // at least one is allowed

  size_t bytes() const { return sizeof(TokenMask) + (tokens.size() + bits.size() + removed.size()) * sizeof(uint32_t); }
};

inline void set_bit(std::span<uint32_t> bits, uint32_t index) { bits[index / 32] |= 1u << (index % 32); }
inline void clear_bit(std::span<uint32_t> bits, uint32_t index) { bits[index / 32] &= ~(1u << (index % 32)); }

}  // namespace wick::grammar
