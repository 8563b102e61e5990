#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "media/image/pixels.h"

namespace wick {

// 8-bit sRGB as a viewer shows it: upright, colours converted, transparency on white.
struct Picture {
  int width = 0, height = 0;
  Pixels rgb;  // [height, width, 3]

  const uint8_t* row(int y) const { return rgb.data() + static_cast<size_t>(y) * static_cast<size_t>(width) * 3; }
  uint8_t* row(int y) { return rgb.data() + static_cast<size_t>(y) * static_cast<size_t>(width) * 3; }
};

// What a file may ask for; checked before memory is taken.
struct PictureLimits {
  int64_t max_pixels = int64_t{1} << 27;  // of one picture: 134 megapixels
  int64_t max_bytes = int64_t{1} << 29;   // of a file
  int max_frames = 1 << 20;               // of an animation or a video, whether they are wanted or not
};

// What the first bytes say, not the name: "JPEG", "PNG", "WebP", "GIF", "BMP", "TIFF", "HEIF", "AVIF"; empty: none.
std::string_view picture_kind(std::span<const std::byte> bytes);

// `name` is for messages. Throws Error(kBadFile) for what is damaged or ends early, Error(kInvalidArgument) for what is
// above the limits, Error(kUnsupported) for a kind that is not known, or whose library is not there, with its name.
Picture read_picture(std::span<const std::byte> bytes, const std::string& name, const PictureLimits& limits = {});
Picture load_picture(const std::filesystem::path& path, const PictureLimits& limits = {});  // "-": standard input

// A colour of three bytes everywhere.
Picture plain_picture(int width, int height, uint8_t red, uint8_t green, uint8_t blue);
// The part that begins there; it lies inside.
Picture crop(const Picture& picture, int left, int top, int width, int height);

}  // namespace wick
