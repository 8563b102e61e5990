#include "media/image/exif.h"

#include <algorithm>
#include <utility>

#include "media/image/byte_view.h"

namespace wick {
namespace {

constexpr uint32_t kOrientation = 0x0112, kShort = 3;

void copy_pixel(const uint8_t* from, uint8_t* to) { std::copy_n(from, 3, to); }

// Columns become rows.
Picture transposed(const Picture& picture) {
  Picture out;
  out.width = picture.height;
  out.height = picture.width;
  out.rgb.resize(picture.rgb.size());
  constexpr int kBlock = 32;  // so that both sides stay in the cache
  for (int y0 = 0; y0 < picture.height; y0 += kBlock) {
    for (int x0 = 0; x0 < picture.width; x0 += kBlock) {
      const int y1 = std::min(y0 + kBlock, picture.height), x1 = std::min(x0 + kBlock, picture.width);
      for (int y = y0; y < y1; ++y) {
        for (int x = x0; x < x1; ++x) copy_pixel(picture.row(y) + ptrdiff_t{3} * x, out.row(x) + ptrdiff_t{3} * y);
      }
    }
  }
  return out;
}

void mirror_rows(Picture& picture) {
  for (int y = 0; y < picture.height; ++y) {
    uint8_t* left = picture.row(y);
    uint8_t* right = left + ptrdiff_t{3} * (picture.width - 1);
    for (; left < right; left += 3, right -= 3) std::swap_ranges(left, left + 3, right);
  }
}

void turn_over(Picture& picture) {
  const ptrdiff_t bytes = ptrdiff_t{3} * picture.width;
  for (int y = 0; y < picture.height / 2; ++y) {
    std::swap_ranges(picture.row(y), picture.row(y) + bytes, picture.row(picture.height - 1 - y));
  }
}

}  // namespace

int exif_orientation(std::span<const std::byte> tiff) {
  const ByteView view(tiff);
  const bool is_little = view.is(0, "II");
  if (!is_little && !view.is(0, "MM")) return 1;
  const auto number = [&](size_t at, int bytes) { return is_little ? view.little(at, bytes) : view.big(at, bytes); };
  const size_t folder = number(4, 4);
  const uint32_t entries = number(folder, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = folder + 2 + size_t{12} * i;
    if (!view.has(entry, 12)) break;
    if (number(entry, 2) != kOrientation || number(entry + 2, 2) != kShort) continue;
    const uint32_t value = number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

void make_upright(Picture& picture, int orientation) {
  if (orientation < 2 || orientation > 8) return;
  if (orientation >= 5) picture = transposed(picture);
  // 2 mirrored | 3 half a turn | 4 upside down | 5 transposed | 6 to turn right | 7 across | 8 to turn left
  if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7) mirror_rows(picture);
  if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8) turn_over(picture);
}

}  // namespace wick
