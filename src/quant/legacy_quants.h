#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Q4_0: 32 weights share one scale; weight i = (nibble - 8) * scale.
// bytes 0-1 scale (f16) | bytes 2-17: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ4_0 {
  uint16_t scale;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ4_0) == 18, "on-disk layout");

void decode_q4_0(const std::byte* blocks, float* weights, int64_t count);
void encode_q4_0(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q4_1: 32 weights; weight i = nibble * scale + min.
// bytes 0-1 scale (f16) | 2-3 min (f16) | 4-19: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ4_1 {
  uint16_t scale;
  uint16_t min;
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ4_1) == 20, "on-disk layout");

void decode_q4_1(const std::byte* blocks, float* weights, int64_t count);
void encode_q4_1(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q5_0: 32 weights share one scale; weight i = (q - 16) * scale, q = nibble + 16 * high bit.
// bytes 0-1 scale (f16) | 2-5 high bits, bit i of the little-endian word = weight i
// bytes 6-21: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ5_0 {
  uint16_t scale;
  uint8_t high_bits[4];
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ5_0) == 22, "on-disk layout");

void decode_q5_0(const std::byte* blocks, float* weights, int64_t count);
void encode_q5_0(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q5_1: 32 weights; weight i = q * scale + min, q = nibble + 16 * high bit.
// bytes 0-1 scale (f16) | 2-3 min (f16) | 4-7 high bits, bit i of the little-endian word = weight i
// bytes 8-23: low nibbles = weights 0-15, high nibbles = 16-31
struct BlockQ5_1 {
  uint16_t scale;
  uint16_t min;
  uint8_t high_bits[4];
  uint8_t nibbles[16];
};
static_assert(sizeof(BlockQ5_1) == 24, "on-disk layout");

void decode_q5_1(const std::byte* blocks, float* weights, int64_t count);
void encode_q5_1(const float* weights, std::byte* blocks, int64_t count, const float* importance);

// Q8_0: 32 weights share one scale; weight i = q * scale.
// bytes 0-1 scale (f16) | bytes 2-33: q of weights 0-31 (i8)
struct BlockQ8_0 {
  uint16_t scale;
  int8_t quants[32];
};
static_assert(sizeof(BlockQ8_0) == 34, "on-disk layout");

void decode_q8_0(const std::byte* blocks, float* weights, int64_t count);
void encode_q8_0(const float* weights, std::byte* blocks, int64_t count, const float* importance);

}  // namespace wick
