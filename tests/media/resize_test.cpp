#include "media/image/resize.h"

#include <gtest/gtest.h>

#include <cstring>

#include "media/image/resize_kernel.h"
#include "media/picture_files.h"
#include "support/errors.h"
#include "support/targets.h"

namespace wick {
namespace {

uint64_t fnv(std::span<const uint8_t> bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// What Pillow 9.4 makes of noise (arithmetic 0), and what a plain transcription of torchvision's arithmetic does (1),
// which agrees with the reference of the image processors.
struct Row {
  int width, height, new_width, new_height, filter, arithmetic;
  uint64_t hash;
};
const Row kRows[] = {
    {133, 97, 64, 65, 0, 0, 0xf7a4e9a945814ef0}, {133, 97, 64, 65, 1, 0, 0x0b8707a408fe38f0},
    {133, 97, 64, 65, 2, 0, 0xb2615470ede88f95}, {133, 97, 64, 65, 3, 0, 0x4b29d8d004a1bf5a},
    {133, 97, 64, 65, 4, 0, 0xe72090167ddafef3}, {133, 97, 64, 65, 5, 0, 0x2887aa0716128195},
    {133, 97, 64, 65, 2, 1, 0x0972e31c62c9b6b1}, {133, 97, 64, 65, 3, 1, 0x6427d62733109cd4},
    {33, 70, 100, 41, 0, 0, 0x00948727cde415d1}, {33, 70, 100, 41, 1, 0, 0xf3f8b15b9e798277},
    {33, 70, 100, 41, 2, 0, 0x1c5f90db74a8c6aa}, {33, 70, 100, 41, 3, 0, 0xd6d53f30d79c6a7b},
    {33, 70, 100, 41, 4, 0, 0xc665de90b5988fcd}, {33, 70, 100, 41, 5, 0, 0x70fe67ee38745c66},
    {33, 70, 100, 41, 2, 1, 0xcfe9287e8653ca80}, {33, 70, 100, 41, 3, 1, 0xc78322090a337c8f},
    {1, 1, 5, 3, 0, 0, 0x59d6cc1c69619c0d},      {1, 1, 5, 3, 1, 0, 0x59d6cc1c69619c0d},
    {1, 1, 5, 3, 2, 0, 0x59d6cc1c69619c0d},      {1, 1, 5, 3, 3, 0, 0x59d6cc1c69619c0d},
    {1, 1, 5, 3, 4, 0, 0x59d6cc1c69619c0d},      {1, 1, 5, 3, 5, 0, 0x59d6cc1c69619c0d},
    {1, 1, 5, 3, 2, 1, 0x59d6cc1c69619c0d},      {1, 1, 5, 3, 3, 1, 0x59d6cc1c69619c0d},
    {90, 31, 2, 31, 0, 0, 0x0aaf6a531cb6293a},   {90, 31, 2, 31, 1, 0, 0x8ea6a3146384621b},
    {90, 31, 2, 31, 2, 0, 0xf2c6c1b03d8d5686},   {90, 31, 2, 31, 3, 0, 0xd550b1ef5670afa3},
    {90, 31, 2, 31, 4, 0, 0xf559b5b14d471045},   {90, 31, 2, 31, 5, 0, 0xb60f44e38131c06d},
    {90, 31, 2, 31, 2, 1, 0x701faf9af9638179},   {90, 31, 2, 31, 3, 1, 0xd550b1ef5670afa3},
};

TEST(Resize, IsPillowsAndTorchvisionsByteForByte) {
  on_every_target([](const std::string& target) {
    SCOPED_TRACE(target);
    for (const Row& row : kRows) {
      const Picture out = resize(noisy_picture(row.width, row.height), row.new_width, row.new_height,
                                 static_cast<ResizeFilter>(row.filter), static_cast<ResizeArithmetic>(row.arithmetic));
      EXPECT_EQ(fnv(out.rgb), row.hash) << row.width << " x " << row.height << " to " << row.new_width << " x "
                                        << row.new_height << ", filter " << row.filter << ", " << row.arithmetic;
    }
  });
}

TEST(Resize, KeepsWhatHasTheSizeAlready) {
  const Picture picture = noisy_picture(31, 17);
  EXPECT_EQ(resize(picture, 31, 17, ResizeFilter::kLanczos).rgb, picture.rgb);
  EXPECT_EQ(resize(plain_picture(40, 3, 7, 8, 255), 9, 70, ResizeFilter::kLanczos).rgb,
            plain_picture(9, 70, 7, 8, 255).rgb);
  EXPECT_ERROR(resize(picture, 0, 17, ResizeFilter::kBicubic), kInvalidArgument, "31 x 17 cannot become one of 0 x 17");
}

TEST(WeightedRows, AreTheSumsThatTheyClaim) {
  on_every_target([](const std::string& target) {
    SCOPED_TRACE(target);
    const Picture rows = noisy_picture(37, 9);
    const ptrdiff_t stride = 37 * 3;
    const std::vector<int32_t> wide = {3000000, -812345, 3, -1, 2194304, -1099999, 77777, 812345, 1};
    const std::vector<int32_t> narrow = {32767, -32768, 3, -1, 12345, -9999, 1, 20000, 7};
    for (const bool is_narrow : {false, true}) {
      const auto& weights = is_narrow ? narrow : wide;
      const int precision = is_narrow ? 14 : 22;
      for (const size_t count : {size_t{1}, size_t{15}, size_t{32}, size_t{33}, size_t{65}, size_t{111}}) {
        for (const int taps : {1, 2, 5, 9}) {
          std::vector<uint8_t> out(count + 1, 99);
          weighted_rows(rows.rgb.data(), stride, weights.data(), taps, precision, is_narrow, count, out.data());
          EXPECT_EQ(out[count], 99);
          for (size_t i = 0; i < count; ++i) {
            int64_t sum = int64_t{1} << (precision - 1);
            for (int t = 0; t < taps; ++t) {
              sum += int64_t{weights[static_cast<size_t>(t)]} * rows.rgb[static_cast<size_t>(t * stride) + i];
            }
            ASSERT_EQ(out[i], std::clamp<int64_t>(sum >> precision, 0, 255)) << count << " " << taps << " " << i;
          }
        }
      }
    }
  });
}

TEST(TransposeBytes, TurnsRowsIntoColumns) {
  on_every_target([](const std::string& target) {
    SCOPED_TRACE(target);
    const Picture in = noisy_picture(25, 40);
    for (const auto& [rows, columns] :
         {std::pair(1, 1), std::pair(16, 16), std::pair(17, 33), std::pair(40, 75), std::pair(32, 70)}) {
      std::vector<uint8_t> out(static_cast<size_t>(columns) * 41, 0);
      transpose_bytes(in.rgb.data(), 75, rows, columns, out.data(), 41);
      for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < columns; ++column) {
          ASSERT_EQ(out[static_cast<size_t>(column * 41 + row)], in.rgb[static_cast<size_t>(row * 75 + column)]);
        }
      }
    }
  });
}

TEST(ResizePlanes, IsTorchs) {
  std::vector<float> planes;
  for (int i = 0; i < 2 * 13 * 17; ++i) planes.push_back(static_cast<float>(37 * i % 101) / 101.0f);
  const std::string bytes = picture_bytes("planes.f32");
  size_t at = 0;
  for (const auto& [height, width] : {std::pair(8, 5), std::pair(20, 33)}) {
    for (const auto filter : {ResizeFilter::kBilinear, ResizeFilter::kBicubic}) {
      const auto out = resize_planes(planes, 2, 13, 17, height, width, filter);
      ASSERT_EQ(out.size(), static_cast<size_t>(2 * height * width));
      for (const float value : out) {
        float expected = 0;
        std::memcpy(&expected, bytes.data() + at, sizeof(expected));
        at += sizeof(expected);
        ASSERT_NEAR(value, expected, 1e-6);
      }
    }
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_ERROR(resize_planes(planes, 2, 13, 17, 3, 3, ResizeFilter::kLanczos), kInvalidArgument,
               "bilinear or the bicubic");
  EXPECT_ERROR(resize_planes(planes, 3, 13, 17, 3, 3, ResizeFilter::kBilinear), kInvalidArgument, "are not 3 planes");
}

}  // namespace
}  // namespace wick
