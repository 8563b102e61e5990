#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include "media/image/picture.h"
#include "support/fixtures.h"

namespace wick {

inline std::filesystem::path picture_file(const std::string& name) { return fixture_folders("pictures").at(0) / name; }
inline std::string picture_bytes(const std::string& name) {
  std::ifstream file(picture_file(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline Picture picture_of(const std::string& bytes, const std::string& name = "picture",
                          const PictureLimits& limits = {}) {
  return read_picture(std::as_bytes(std::span(bytes)), name, limits);
}

// What make_pictures.py draws: 24 x 16 of (10 x, 15 y, 7 x + 3 y).
inline Picture drawn_picture() {
  Picture picture = plain_picture(24, 16, 0, 0, 0);
  for (int y = 0; y < 16; ++y) {
    for (int x = 0; x < 24; ++x) {
      uint8_t* pixel = picture.row(y) + 3 * x;
      pixel[0] = static_cast<uint8_t>(10 * x);
      pixel[1] = static_cast<uint8_t>(15 * y);
      pixel[2] = static_cast<uint8_t>(7 * x + 3 * y);
    }
  }
  return picture;
}

// Bytes that look like noise, with many extremes.
inline Picture noisy_picture(int width, int height) {
  Picture picture = plain_picture(width, height, 0, 0, 0);
  uint32_t state = 12345;
  for (uint8_t& byte : picture.rgb) {
    state = state * 1664525u + 1013904223u;
    byte = state >> 8 & 1 ? static_cast<uint8_t>(state >> 24) : state >> 9 & 1 ? uint8_t{255} : uint8_t{0};
  }
  return picture;
}

// The largest difference of two bytes; 256 where sizes differ.
inline int difference(const Picture& a, const Picture& b) {
  if (a.width != b.width || a.height != b.height || a.rgb.size() != b.rgb.size()) return 256;
  int most = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) most = std::max(most, std::abs(int{a.rgb[i]} - int{b.rgb[i]}));
  return most;
}

}  // namespace wick
