#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// The 12 bytes in which Q4_K and Q5_K keep 8 scales and 8 mins of 6 bits:
// bytes 0-3: low 6 bits = scales 0-3 | bytes 4-7: low 6 bits = mins 0-3
// bytes 8-11: low nibble = low 4 bits of scales 4-7, high nibble = low 4 bits of mins 4-7
// top 2 bits of bytes 0-3 = top 2 bits of scales 4-7, top 2 bits of bytes 4-7 = top 2 bits of mins 4-7
struct GroupScales {
  uint8_t scales[8];
  uint8_t mins[8];
};

inline GroupScales unpack_group_scales(const uint8_t* packed) {
  GroupScales groups;
  for (int i = 0; i < 4; ++i) {
    groups.scales[i] = packed[i] & 63;
    groups.mins[i] = packed[i + 4] & 63;
    groups.scales[i + 4] = static_cast<uint8_t>((packed[i + 8] & 15) | (packed[i] >> 6 << 4));
    groups.mins[i + 4] = static_cast<uint8_t>((packed[i + 8] >> 4) | (packed[i + 4] >> 6 << 4));
  }
  return groups;
}

inline void pack_group_scales(const GroupScales& groups, uint8_t* packed) {
  for (int i = 0; i < 4; ++i) {
    packed[i] = static_cast<uint8_t>(groups.scales[i] | groups.scales[i + 4] >> 4 << 6);
    packed[i + 4] = static_cast<uint8_t>(groups.mins[i] | groups.mins[i + 4] >> 4 << 6);
    packed[i + 8] = static_cast<uint8_t>((groups.scales[i + 4] & 15) | (groups.mins[i + 4] & 15) << 4);
  }
}

// The 12 bytes in which Q3_K keeps 16 scales of 6 bits (layout in quant/k_quants.h), as 0..63.
inline void unpack_q3_k_scales(const uint8_t* packed, uint8_t* scales) {
  for (int g = 0; g < 16; ++g) {
    const int low = packed[g % 8] >> (g < 8 ? 0 : 4) & 15;
    const int high = packed[8 + g % 4] >> 2 * (g / 4) & 3;
    scales[g] = static_cast<uint8_t>(low | high << 4);
  }
}

inline void pack_q3_k_scales(const uint8_t* scales, uint8_t* packed) {
  for (int i = 0; i < 8; ++i) packed[i] = static_cast<uint8_t>((scales[i] & 15) | (scales[i + 8] & 15) << 4);
  for (int i = 0; i < 4; ++i) {
    packed[8 + i] = static_cast<uint8_t>(scales[i] >> 4 | scales[i + 4] >> 4 << 2 | scales[i + 8] >> 4 << 4 |
                                         scales[i + 12] >> 4 << 6);
  }
}

// Group4: 32 weights of GPTQ or AWQ in 4 bits, unchanged; weight i = scale * (nibble - zero).
// bytes 0-1 scale (f16) | 2-3 zero (f16, an integer from 0 to 16) | 4-19: low nibbles = weights 0-15, high nibbles =
// 16-31
struct BlockGroup4 {
  uint16_t scale;
  uint16_t zero;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockGroup4) == 20, "on-disk layout");

void decode_group4(const std::byte* blocks, float* weights, int64_t count);
void encode_group4(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Group8: 32 weights of GPTQ in 8 bits, unchanged; weight i = scale * (q - zero).
// bytes 0-1 scale (f16) | 2-3 zero (f16, an integer from 0 to 256) | 4-35: q of weights 0-31 (u8)
struct BlockGroup8 {
  uint16_t scale;
  uint16_t zero;
  uint8_t quants[32];
};
static_assert(sizeof(BlockGroup8) == 36, "on-disk layout");

void decode_group8(const std::byte* blocks, float* weights, int64_t count);
void encode_group8(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
