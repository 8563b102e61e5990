#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "formats/safetensors.h"
#include "quant/format.h"
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
      const SafetensorsFile file = SafetensorsFile::open(entry.path());
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
