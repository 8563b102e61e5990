#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "formats/checkpoint.h"
#include "quant/format.h"
#include "quant/group_quants.h"
#include "quant/i8_channel.h"
#include "support/fixtures.h"

namespace wick {
namespace {

bool same_bits(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) || (std::isnan(a) && std::isnan(b));
}

// tests/fixtures/quant/<dtype>.safetensors: `blocks` (u8) and what they stand for as ggml reads them, `values` (f32).
// The codebook formats go through every entry of their codebook; some scales are zero, negative, subnormal or infinite.
TEST(QuantDecode, MatchesFixturesBitForBit) {
  int files = 0;
  for (const auto& folder : fixture_folders("quant")) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const std::optional<DType> dtype = dtype_named(entry.path().stem().string());
      ASSERT_TRUE(dtype && is_packed(*dtype)) << entry.path();
      const Checkpoint file = Checkpoint::open(entry.path());
      const std::vector<uint8_t> blocks = file.get("blocks").to_vector<uint8_t>();
      const std::vector<float> expected = file.get("values").to_vector<float>();
      const auto count = static_cast<int64_t>(expected.size());
      ASSERT_EQ(static_cast<int64_t>(blocks.size()), bytes_of(*dtype, count)) << entry.path();
      std::vector<std::byte> unaligned(blocks.size() + 1);
      std::memcpy(unaligned.data() + 1, blocks.data(), blocks.size());
      std::vector<float> values(expected.size());
      quant_format(*dtype).decode(unaligned.data() + 1, values.data(), count);
      for (int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<size_t>(i);
        ASSERT_TRUE(same_bits(values[at], expected[at]))
            << to_string(*dtype) << ": weight " << i << " is " << values[at] << ", not " << expected[at];
      }
      ++files;
    }
  }
  EXPECT_GE(files, 25);
}

template <typename Block>
std::vector<float> decoded(DType dtype, const Block& block) {
  std::vector<float> values(static_cast<size_t>(block_weights(dtype)));
  quant_format(dtype).decode(reinterpret_cast<const std::byte*>(&block), values.data(), block_weights(dtype));
  return values;
}

TEST(QuantDecode, OwnFormats) {
  BlockI8Channel row{0.3f, {}};
  BlockGroup4 four{f32_to_f16_bits(0.0123f), f32_to_f16_bits(16), {}};
  BlockGroup8 eight{f32_to_f16_bits(-0.5f), f32_to_f16_bits(256), {}};
  for (int i = 0; i < 64; ++i) row.quants[i] = static_cast<int8_t>(4 * i - 127);
  for (int i = 0; i < 16; ++i) four.nibbles[i] = static_cast<uint8_t>(i | (15 - i) << 4);
  for (int i = 0; i < 32; ++i) eight.quants[i] = static_cast<uint8_t>(8 * i + 7);
  const std::vector<float> from_row = decoded(DType::kI8Channel, row);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(from_row[static_cast<size_t>(i)], 0.3f * static_cast<float>(4 * i - 127));
  const std::vector<float> from_four = decoded(DType::kGroup4, four);
  const float scale = f16_bits_to_f32(four.scale);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(from_four[static_cast<size_t>(i)], scale * static_cast<float>(i - 16));
    EXPECT_EQ(from_four[static_cast<size_t>(i + 16)], scale * static_cast<float>(15 - i - 16));
  }
  const std::vector<float> from_eight = decoded(DType::kGroup8, eight);
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(from_eight[static_cast<size_t>(i)], -0.5f * static_cast<float>(8 * i + 7 - 256));
}

TEST(QuantDecode, ThrowsForElementDTypes) { EXPECT_THROW(quant_format(DType::kF32), Error); }

TEST(QuantDecode, EveryPackedDTypeDecodesAnyBytes) {
  for (int d = kElementDTypeCount; d < kDTypeCount; ++d) {
    const auto dtype = static_cast<DType>(d);
    for (const uint8_t fill : {0x00, 0x55, 0xaa, 0xff}) {
      const std::vector<std::byte> blocks(static_cast<size_t>(3 * block_bytes(dtype)), std::byte{fill});
      std::vector<float> values(static_cast<size_t>(3 * block_weights(dtype)));
      quant_format(dtype).decode(blocks.data(), values.data(), static_cast<int64_t>(values.size()));
    }
  }
}

}  // namespace
}  // namespace wick
