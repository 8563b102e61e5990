#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q2_K: 256 weights in 16 groups of 16; weight = q * scale * group_scale - min_scale * group_min, q in 0..3.
// bytes 0-15: one per group, low nibble = group_scale, high nibble = group_min
// bytes 16-79: q. Each half of 128 weights has 32 bytes; bits 2s, 2s+1 of byte b hold its weight 32 s + b
// bytes 80-81 scale (f16) | 82-83 min_scale (f16)
struct BlockQ2_K {
  uint8_t group_scales[16];
  uint8_t quants[64];
  uint16_t scale;
  uint16_t min_scale;
};
static_assert(sizeof(BlockQ2_K) == 84, "on-disk layout");

void decode_q2_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q2_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q3_K: 256 weights in 16 groups of 16; weight = (q - 4) * scale * (group_scale - 32), q = low pair + 4 * high bit.
// bytes 0-31 high bits: bit h of byte b = weight 32 h + b
// bytes 32-95 low pairs: each half of 128 weights has 32 bytes; bits 2s, 2s+1 of byte b hold its weight 32 s + b
// bytes 96-107 group scales of 6 bits: the low 4 bits of groups 0-7 and 8-15 are the low and high nibbles of the first
//   8 bytes; the high 2 bits of group g are bits 2 (g / 4) and up of byte 8 + g % 4
// bytes 108-109 scale (f16)
struct BlockQ3_K {
  uint8_t high_bits[32];
  uint8_t low_pairs[64];
  uint8_t group_scales[12];
  uint16_t scale;
};
static_assert(sizeof(BlockQ3_K) == 110, "on-disk layout");

void decode_q3_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q3_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q4_K: 256 weights in 8 groups of 32; weight = q * scale * group_scale - min_scale * group_min, q in 0..15.
// bytes 0-1 scale (f16) | 2-3 min_scale (f16) | 4-15 group scales and mins, 6 bits each (quant/group_quants.h)
// bytes 16-143: 32 bytes for each pair of groups; low nibbles = the even group, high nibbles = the odd one
struct BlockQ4_K {
  uint16_t scale;
  uint16_t min_scale;
  uint8_t group_scales[12];
  uint8_t nibbles[128];
};
static_assert(sizeof(BlockQ4_K) == 144, "on-disk layout");

void decode_q4_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q4_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q5_K: 256 weights in 8 groups of 32; weight = q * scale * group_scale - min_scale * group_min,
// q = nibble + 16 * high bit.
// bytes 0-1 scale (f16) | 2-3 min_scale (f16) | 4-15 group scales and mins, 6 bits each (quant/group_quants.h)
// bytes 16-47 high bits: bit g of byte b = weight b of group g
// bytes 48-175: 32 bytes for each pair of groups; low nibbles = the even group, high nibbles = the odd one
struct BlockQ5_K {
  uint16_t scale;
  uint16_t min_scale;
  uint8_t group_scales[12];
  uint8_t high_bits[32];
  uint8_t nibbles[128];
};
static_assert(sizeof(BlockQ5_K) == 176, "on-disk layout");

void decode_q5_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q5_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q6_K: 256 weights in 16 groups of 16; weight = (q - 32) * scale * group_scale, q = nibble + 16 * high pair.
// bytes 0-127 nibbles: each half of 128 weights has 64 bytes; low nibbles = its weights 0-63, high nibbles = 64-127
// bytes 128-191 high pairs: each half has 32 bytes; bits 2s, 2s+1 of byte b hold its weight 32 s + b
// bytes 192-207 group scales (i8) | 208-209 scale (f16)
struct BlockQ6_K {
  uint8_t nibbles[128];
  uint8_t high_pairs[64];
  int8_t group_scales[16];
  uint16_t scale;
};
static_assert(sizeof(BlockQ6_K) == 210, "on-disk layout");

void decode_q6_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q6_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q8_K: 256 weights share one scale; weight i = q * scale.
// bytes 0-3 scale (f32) | 4-259 q (i8) | 260-291 sums of q over each 16 weights (i16)
#pragma pack(push, 2)
struct BlockQ8_K {
  float scale;
  int8_t quants[256];
  int16_t sums[16];
};
#pragma pack(pop)
static_assert(sizeof(BlockQ8_K) == 292, "on-disk layout");

void decode_q8_k(const std::byte* blocks, float* weights, int64_t count);
void encode_q8_k(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
