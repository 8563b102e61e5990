#include "quant/float8.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace wick {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Rounding is right when no other code is nearer, and ties go to the even code.
template <float (*kDecode)(uint8_t), uint8_t (*kEncode)(float)>
void check_rounding(uint8_t largest) {
  for (int code = 0; code < largest; ++code) {
    const float low = kDecode(static_cast<uint8_t>(code));
    const float high = kDecode(static_cast<uint8_t>(code + 1));
    const float middle = 0.5f * (low + high);
    ASSERT_EQ(kEncode(low), code);
    ASSERT_EQ(kEncode(std::nextafter(middle, 0.0f)), code);
    ASSERT_EQ(kEncode(middle), code % 2 == 0 ? code : code + 1);
    ASSERT_EQ(kEncode(std::nextafter(middle, kInfinity)), code + 1);
    ASSERT_EQ(kEncode(-high), (code + 1) | 0x80);
  }
}

TEST(Float8, RoundsToTheNearestCode) {
  check_rounding<f8_e4m3_to_f32, f32_to_f8_e4m3>(0x7e);
  check_rounding<f8_e5m2_to_f32, f32_to_f8_e5m2>(0x7b);
}

TEST(Float8, SaturatesAndCountsWhatIsNotFiniteAsZero) {
  EXPECT_EQ(f8_e4m3_to_f32(f32_to_f8_e4m3(1e9f)), 448.0f);
  EXPECT_EQ(f8_e4m3_to_f32(f32_to_f8_e4m3(-500.0f)), -448.0f);
  EXPECT_EQ(f8_e5m2_to_f32(f32_to_f8_e5m2(1e9f)), 57344.0f);
  for (const float value : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(f8_e4m3_to_f32(f32_to_f8_e4m3(value)), 0.0f);
    EXPECT_EQ(f8_e5m2_to_f32(f32_to_f8_e5m2(value)), 0.0f);
  }
}

TEST(Float8, PowersOfTwo) {
  for (int code = 0; code < 255; ++code) {
    const float value = f8_e8m0_to_f32(static_cast<uint8_t>(code));
    ASSERT_EQ(f32_to_f8_e8m0(value), code);
    ASSERT_EQ(f32_to_f8_e8m0(1.49f * value), code);
    ASSERT_EQ(f32_to_f8_e8m0(1.51f * value), std::min(code + 1, 254));
  }
  EXPECT_TRUE(std::isnan(f8_e8m0_to_f32(0xff)));
  EXPECT_EQ(f32_to_f8_e8m0(0.0f), 0);
  EXPECT_EQ(f32_to_f8_e8m0(-3.0f), 0);
  EXPECT_EQ(f32_to_f8_e8m0(std::numeric_limits<float>::max()), 254);
}

}  // namespace
}  // namespace wick
