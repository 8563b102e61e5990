#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "media/image/picture.h"

namespace wick {

using ByteSpan = std::span<const std::byte>;

enum class RawFormat {
  kRgb,
  kRgba,
  kRgbaMultiplied,  // colours are multiplied with alpha already
  kInverseCmyk,     // 255 is no ink, as Adobe writes JPEG
};

// A picture as its file has it, before it is turned, put on white and converted to sRGB.
struct RawPicture {
  int width = 0, height = 0;
  RawFormat format = RawFormat::kRgb;
  Pixels pixels;                   // [height, width, 3 or 4]
  std::vector<std::byte> profile;  // ICC; empty: sRGB
  int orientation = 1;             // as EXIF numbers them

  int channels() const { return format == RawFormat::kRgb ? 3 : 4; }
};

struct PictureFile {
  ByteSpan bytes;
  std::string name;
  PictureLimits limits;

  Error bad(const std::string& what) const;
  // Throws when a picture of that size is empty or above the limits.
  void check_size(int64_t width, int64_t height) const;
  // Throws when so many frames are put together that a small file would keep the program busy for long.
  void check_work(int frames, const RawPicture& canvas) const;
  // Memory for it, checked.
  RawPicture make(int64_t width, int64_t height, RawFormat format) const;
};

// The first picture of a file whose kind is known. A build without a library refuses with the library's name.
RawPicture decode_jpeg(const PictureFile& file);
RawPicture decode_png(const PictureFile& file);
RawPicture decode_webp(const PictureFile& file);
RawPicture decode_gif(const PictureFile& file);
RawPicture decode_bmp(const PictureFile& file);
RawPicture decode_tiff(const PictureFile& file);
RawPicture decode_heif(const PictureFile& file);

// On white, converted and upright. Throws Error(kBadFile) when the profile is damaged.
Picture finish_picture(RawPicture raw, const std::string& name);

// One byte more than the limit at most.
std::vector<std::byte> read_standard_input(const PictureLimits& limits);

struct AnimationInfo {
  int frames = 0;
  double seconds = 0;
};
// Without decoding. Throws as decoding does where the file's structure is damaged.
AnimationInfo gif_info(const PictureFile& file);
AnimationInfo webp_info(const PictureFile& file);
// Called with every frame in order, until it says false. The canvas is valid during the call.
using FrameVisitor = std::function<bool(int index, double seconds, const RawPicture& canvas)>;
void visit_gif(const PictureFile& file, const FrameVisitor& visit);
void visit_webp(const PictureFile& file, const FrameVisitor& visit);

}  // namespace wick
