#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace wick::grammar {

// Which tokens may come next, stored as whatever is shortest.
struct TokenMask {
  enum class Kind : uint8_t { kOnly, kAllBut, kBits };
  Kind kind = Kind::kOnly;
  std::vector<uint32_t> tokens;  // kOnly: those allowed; kAllBut: text tokens that are not
  std::vector<uint32_t> bits;    // kBits
  bool any = false;              // at least one is allowed

  size_t bytes() const { return sizeof(TokenMask) + (tokens.size() + bits.size()) * sizeof(uint32_t); }
};

inline void set_bit(std::span<uint32_t> bits, uint32_t index) { bits[index / 32] |= 1u << (index % 32); }
inline void clear_bit(std::span<uint32_t> bits, uint32_t index) { bits[index / 32] &= ~(1u << (index % 32)); }

}  // namespace wick::grammar
