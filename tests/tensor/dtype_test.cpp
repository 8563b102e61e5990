#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace wick {
namespace {

constexpr DType F64 = DType::kF64, F32 = DType::kF32, F16 = DType::kF16, BF16 = DType::kBF16, I64 = DType::kI64,
                I32 = DType::kI32, U32 = DType::kU32, U8 = DType::kU8, I8 = DType::kI8;
constexpr DType kAll[] = {F64, F32, F16, BF16, I64, I32, U32, U8, I8};

// numpy.promote_types, row by row; bf16 as the 8-bit-mantissa float it is, and i16 (u8 + i8) widened to i32.
constexpr DType kPromotion[9][9] = {
    //        F64  F32  F16  BF16  I64  I32  U32  U8   I8
    /*F64*/ {F64, F64, F64, F64, F64, F64, F64, F64, F64},
    /*F32*/ {F64, F32, F32, F32, F64, F64, F64, F32, F32},
    /*F16*/ {F64, F32, F16, F32, F64, F64, F64, F16, F16},
    /*BF16*/ {F64, F32, F32, BF16, F64, F64, F64, BF16, BF16},
    /*I64*/ {F64, F64, F64, F64, I64, I64, I64, I64, I64},
    /*I32*/ {F64, F64, F64, F64, I64, I32, I64, I32, I32},
    /*U32*/ {F64, F64, F64, F64, I64, I64, U32, U32, I64},
    /*U8*/ {F64, F32, F16, BF16, I64, I32, U32, U8, I32},
    /*I8*/ {F64, F32, F16, BF16, I64, I32, I64, I32, I8},
};

TEST(DType, PromotionTable) {
  for (int a = 0; a < kElementDTypeCount; ++a) {
    for (int b = 0; b < kElementDTypeCount; ++b) {
      EXPECT_EQ(to_string(promote(kAll[a], kAll[b])), to_string(kPromotion[a][b]))
          << to_string(kAll[a]) << " + " << to_string(kAll[b]);
    }
  }
}

TEST(DType, SizesAndNames) {
  const int64_t sizes[] = {8, 4, 2, 2, 8, 4, 4, 1, 1};
  const char* names[] = {"f64", "f32", "f16", "bf16", "i64", "i32", "u32", "u8", "i8"};
  for (int i = 0; i < kElementDTypeCount; ++i) {
    EXPECT_EQ(size_of(kAll[i]), sizes[i]);
    EXPECT_EQ(to_string(kAll[i]), names[i]);
    EXPECT_EQ(is_float(kAll[i]), i < 4);
    visit_dtype(kAll[i], [&](auto zero) {
      EXPECT_EQ(dtype_of<decltype(zero)>(), kAll[i]);
      EXPECT_EQ(sizeof(zero), static_cast<size_t>(sizes[i]));
    });
  }
}

// Every f16 value survives the way to f32 and back, and every midpoint rounds to even.
TEST(Half, RoundTripsAllValuesAndRoundsTiesToEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16_bits_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(f16_bits_to_f32(f32_to_f16_bits(value))));
      continue;
    }
    ASSERT_EQ(f32_to_f16_bits(value), bits);
    const bool finite_pair = (bits & 0x7fff) < 0x7bff;
    if (!finite_pair) continue;
    const float next = f16_bits_to_f32(static_cast<uint16_t>(bits + 1));
    const float middle = value + (next - value) / 2;
    ASSERT_EQ(f32_to_f16_bits(middle), bits & 1 ? bits + 1 : bits) << bits;
    ASSERT_EQ(f32_to_f16_bits(std::nextafter(middle, next)), bits + 1) << bits;
    ASSERT_EQ(f32_to_f16_bits(std::nextafter(middle, value)), bits) << bits;
  }
  EXPECT_EQ(f32_to_f16_bits(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16_bits(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16_bits(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_f16_bits(1e-30f), 0);
}

TEST(BFloat16, RoundTripsAllValuesAndRoundsTiesToEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = bf16_bits_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(bf16_bits_to_f32(f32_to_bf16_bits(value))));
      continue;
    }
    ASSERT_EQ(f32_to_bf16_bits(value), bits);
    if ((bits & 0x7fff) >= 0x7f7f) continue;
    const float middle = std::bit_cast<float>((bits << 16) | 0x8000u);
    ASSERT_EQ(f32_to_bf16_bits(middle), bits & 1 ? bits + 1 : bits);
  }
  EXPECT_EQ(f32_to_bf16_bits(3.4e38f), 0x7f80);
}

TEST(Convert, FloatsToIntegersTruncateAndSaturate) {
  EXPECT_EQ(convert<uint8_t>(3.9f), 3);
  EXPECT_EQ(convert<uint8_t>(-5.0), 0);
  EXPECT_EQ(convert<uint8_t>(1e9f), 255);
  EXPECT_EQ(convert<int32_t>(-1e300), std::numeric_limits<int32_t>::min());
  EXPECT_EQ(convert<int64_t>(9.3e18), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(convert<int8_t>(std::nanf("")), 0);
  EXPECT_EQ(convert<int32_t>(Half(-2.5f)), -2);
  EXPECT_EQ(static_cast<float>(convert<BFloat16>(int64_t{257})), 256.0f);
}

}  // namespace
}  // namespace wick
