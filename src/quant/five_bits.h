#pragma once

#include <cstdint>
#include <cstring>

namespace wick {

// Q5_0 and Q5_1 keep 32 numbers of 5 bits as 16 bytes of nibbles and one bit each in a little-endian word.
inline void join_five_bits(const uint8_t* nibbles, const uint8_t* high_bits, uint8_t* quants) {
  uint8_t spread[32];  // each byte of the word, eight times
  for (int i = 0; i < 4; ++i) std::memset(spread + 8 * i, high_bits[i], 8);
  for (int i = 0; i < 16; ++i) {
    quants[i] = nibbles[i] & 15;
    quants[i + 16] = nibbles[i] >> 4;
  }
  constexpr uint8_t kBit[32] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128,
                                1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  for (int i = 0; i < 32; ++i) quants[i] = static_cast<uint8_t>(quants[i] | ((spread[i] & kBit[i]) != 0 ? 16 : 0));
}

inline void split_five_bits(const uint8_t* quants, uint8_t* nibbles, uint8_t* high_bits) {
  uint32_t high = 0;
  for (uint32_t i = 0; i < 32; ++i) high |= static_cast<uint32_t>(quants[i] >> 4) << i;
  for (uint32_t i = 0; i < 16; ++i) nibbles[i] = static_cast<uint8_t>((quants[i] & 15u) | quants[i + 16] << 4);
  std::memcpy(high_bits, &high, sizeof(high));
}

}  // namespace wick
