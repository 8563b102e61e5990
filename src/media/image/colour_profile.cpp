#include "media/image/colour_profile.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "media/image/exif.h"

#if WICK_HAS_LCMS2
#include <lcms2.h>

#include <memory>
#include <type_traits>

#include "media/image/system_library.h"
#endif

namespace wick {
namespace {

void set_rgb(RawPicture& raw, Pixels pixels) {
  raw.pixels = std::move(pixels);
  raw.format = RawFormat::kRgb;
}

uint8_t multiplied(uint32_t a, uint32_t b) {  // a * b / 255, rounded
  const uint32_t product = a * b + 128;
  return static_cast<uint8_t>((product + (product >> 8)) >> 8);
}

#if WICK_HAS_LCMS2
#define WICK_LCMS_FUNCTIONS(each)                                                                                \
  each(cmsCreateContext) each(cmsDeleteContext) each(cmsOpenProfileFromMemTHR) each(cmsCreate_sRGBProfileTHR)    \
      each(cmsCloseProfile) each(cmsGetColorSpace) each(cmsGetHeaderRenderingIntent) each(cmsCreateTransformTHR) \
          each(cmsDeleteTransform) each(cmsDoTransform) each(cmsSetLogErrorHandlerTHR)
WICK_SYSTEM_LIBRARY(Littlecms, WICK_LCMS_FUNCTIONS,
                    "colours are converted with littlecms (tools/install-deps pictures)", "liblcms2.so.2")

struct FreeContext {
  void operator()(cmsContext context) const { Littlecms::get().cmsDeleteContext(context); }
};
struct FreeProfile {
  void operator()(void* profile) const { Littlecms::get().cmsCloseProfile(profile); }
};
struct FreeTransform {
  void operator()(void* transform) const { Littlecms::get().cmsDeleteTransform(transform); }
};
using Context = std::unique_ptr<std::remove_pointer_t<cmsContext>, FreeContext>;
using Profile = std::unique_ptr<void, FreeProfile>;
using Transform = std::unique_ptr<void, FreeTransform>;

// sRGB comes in many hands, none of which moves a colour by more than rounding does.
bool leaves_colours(cmsHTRANSFORM transform) {
  constexpr int kMost = 2;
  std::array<uint8_t, 9 * 9 * 9 * 3> before, after;
  for (size_t i = 0; i < 9 * 9 * 9; ++i) {
    before[3 * i] = static_cast<uint8_t>(i / 81 * 255 / 8);
    before[3 * i + 1] = static_cast<uint8_t>(i / 9 % 9 * 255 / 8);
    before[3 * i + 2] = static_cast<uint8_t>(i % 9 * 255 / 8);
  }
  Littlecms::get().cmsDoTransform(transform, before.data(), after.data(), 9 * 9 * 9);
  return std::equal(before.begin(), before.end(), after.begin(), [](int a, int b) { return std::abs(a - b) <= kMost; });
}
#endif

}  // namespace

void inks_to_rgb(RawPicture& raw) {
  Pixels out(raw.pixels.size() / 4 * 3);
  for (size_t i = 0; i < raw.pixels.size() / 4; ++i) {
    const uint8_t* inks = raw.pixels.data() + 4 * i;
    for (size_t c = 0; c < 3; ++c) {
      out[3 * i + c] = static_cast<uint8_t>(inks[3] - multiplied(255u - inks[c], inks[3]));
    }
  }
  set_rgb(raw, std::move(out));
}

#if WICK_HAS_LCMS2
void convert_to_srgb(std::span<const std::byte> profile, RawPicture& raw, const std::string& name) {
  const auto bad = [&](std::string_view what) {
    return Error(ErrorCode::kBadFile, cat(name, ": its colour profile ", what));
  };
  const Littlecms& library = Littlecms::get();
  const Context context(library.cmsCreateContext(nullptr, nullptr));
  if (!context) throw Error(ErrorCode::kOutOfMemory, "littlecms could not allocate memory");
  const Profile from(
      library.cmsOpenProfileFromMemTHR(context.get(), profile.data(), static_cast<cmsUInt32Number>(profile.size())));
  if (!from) throw bad("is damaged");
  const Profile to(library.cmsCreate_sRGBProfileTHR(context.get()));
  const auto space = library.cmsGetColorSpace(from.get());
  const auto transform_of = [&](cmsUInt32Number format) {
    Transform transform(library.cmsCreateTransformTHR(context.get(), from.get(), format, to.get(), TYPE_RGB_8,
                                                      library.cmsGetHeaderRenderingIntent(from.get()),
                                                      cmsFLAGS_NOCACHE));
    if (!transform) throw bad("cannot be used");
    return transform;
  };
  const size_t count = static_cast<size_t>(raw.width) * static_cast<size_t>(raw.height);
  const auto pixels = static_cast<cmsUInt32Number>(count);
  if (raw.format == RawFormat::kInverseCmyk) {
    if (space != cmsSigCmykData) throw bad("is not for inks, which the picture has");
    Pixels out(count * 3);
    library.cmsDoTransform(transform_of(TYPE_CMYK_8_REV).get(), raw.pixels.data(), out.data(), pixels);
    set_rgb(raw, std::move(out));
  } else if (space == cmsSigGrayData) {
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* in = raw.pixels.data() + 3 * i;
      if (in[0] != in[1] || in[1] != in[2]) throw bad("is for greys, and the picture has colours");
    }
    std::array<uint8_t, 256> levels;
    std::array<uint8_t, 256 * 3> colours;
    for (size_t i = 0; i < 256; ++i) levels[i] = static_cast<uint8_t>(i);
    library.cmsDoTransform(transform_of(TYPE_GRAY_8).get(), levels.data(), colours.data(), 256);
    for (size_t i = 0; i < count; ++i)
      std::copy_n(colours.data() + raw.pixels[3 * i] * size_t{3}, 3, raw.pixels.data() + 3 * i);
  } else if (space == cmsSigRgbData) {
    const Transform transform = transform_of(TYPE_RGB_8);
    if (leaves_colours(transform.get())) return;
    library.cmsDoTransform(transform.get(), raw.pixels.data(), raw.pixels.data(), pixels);
  } else {
    throw bad("is not for red, green and blue, which the picture has");
  }
}
#else
void convert_to_srgb(std::span<const std::byte>, RawPicture&, const std::string& name) {
  throw Error(ErrorCode::kUnsupported, cat(name, ": its colour profile needs littlecms, which this build is without"));
}
#endif

Picture finish_picture(RawPicture raw, const std::string& name) {
  const size_t count = static_cast<size_t>(raw.width) * static_cast<size_t>(raw.height);
  if (raw.format == RawFormat::kRgba || raw.format == RawFormat::kRgbaMultiplied) {
    const bool is_multiplied = raw.format == RawFormat::kRgbaMultiplied;
    Pixels out(count * 3);
    for (size_t i = 0; i < count; ++i) {
      const uint8_t* in = raw.pixels.data() + 4 * i;
      const uint32_t white = 255u - in[3];
      for (size_t c = 0; c < 3; ++c) {
        if (is_multiplied) {
          out[3 * i + c] = static_cast<uint8_t>(std::min(255u, in[c] + white));
        } else {
          const uint32_t sum = uint32_t{in[c]} * in[3] + 255 * white + 128;
          out[3 * i + c] = static_cast<uint8_t>((sum + (sum >> 8)) >> 8);
        }
      }
    }
    set_rgb(raw, std::move(out));
  }
  if (!raw.profile.empty()) convert_to_srgb(raw.profile, raw, name);
  if (raw.format == RawFormat::kInverseCmyk) inks_to_rgb(raw);
  Picture picture{raw.width, raw.height, std::move(raw.pixels)};
  make_upright(picture, raw.orientation);
  return picture;
}

}  // namespace wick
