#include <cstdint>
#include <cstdlib>

#include "base/error.h"
#include "media/image/decoders.h"

// Reads the bytes as a picture, and as an animation where they are one. Libraries that are not there are skipped.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::byte> bytes(reinterpret_cast<const std::byte*>(data),
                                     reinterpret_cast<const std::byte*>(data) + size);
  wick::PictureLimits limits;
  limits.max_pixels = 1 << 20;
  limits.max_frames = 16;
  const auto allow_error = [](const auto& read) {
    try {
      read();
    } catch (const wick::Error& error) {
      if (*error.what() == '\0') std::abort();
    }
  };
  allow_error([&] {
    const wick::Picture picture = wick::read_picture(bytes, "fuzz", limits);
    if (picture.rgb.size() != static_cast<size_t>(picture.width) * static_cast<size_t>(picture.height) * 3)
      std::abort();
  });
  const wick::PictureFile file{bytes, "fuzz", limits};
  const std::string_view kind = wick::picture_kind(bytes);
  if (kind != "GIF" && kind != "WebP") return 0;
  allow_error([&] {
    const auto info = kind == "GIF" ? wick::gif_info(file) : wick::webp_info(file);
    int frames = 0;
    const auto visit = kind == "GIF" ? wick::visit_gif : wick::visit_webp;
    visit(file, [&](int index, double seconds, const wick::RawPicture& canvas) {
      if (index != frames++ || seconds < 0 || canvas.pixels.empty()) std::abort();
      return frames < limits.max_frames;
    });
    if (frames > info.frames) std::abort();
  });
  return 0;
}
