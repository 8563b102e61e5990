#include <algorithm>
#include <array>
#include <memory>

#include "base/text.h"
#include "media/image/byte_view.h"
#include "media/image/decoders.h"
#include "media/image/exif.h"

#if WICK_HAS_TURBOJPEG
#include <turbojpeg.h>

#include "media/image/system_library.h"
#endif

namespace wick {

#if WICK_HAS_TURBOJPEG
namespace {

#define WICK_TURBOJPEG_FUNCTIONS(each)                                                                      \
  each(tjInitDecompress) each(tjDestroy) each(tjDecompressHeader3) each(tjDecompress2) each(tjGetErrorStr2) \
      each(tjGetErrorCode)
WICK_SYSTEM_LIBRARY(Turbojpeg, WICK_TURBOJPEG_FUNCTIONS,
                    "JPEG pictures are read with libjpeg-turbo (tools/install-deps pictures)", "libturbojpeg.so.0",
                    "libturbojpeg.so")

struct FreeDecoder {
  void operator()(void* handle) const { Turbojpeg::get().tjDestroy(handle); }
};

// What lies in front of the pixels: the orientation, and the profile, which may come in up to 255 pieces.
void read_segments(ByteSpan bytes, RawPicture& raw) {
  const ByteView view(bytes);
  std::array<ByteSpan, 256> pieces = {};
  size_t most = 0;
  size_t at = 2;
  while (view.u8(at) == 0xFF) {
    const uint8_t marker = view.u8(at + 1);
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (marker == 0xDA || marker == 0xD9) break;
    if (marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7)) {  // without a length
      at += 2;
      continue;
    }
    const size_t length = view.big(at + 2, 2);
    if (length < 2 || !view.has(at + 2, length)) break;
    if (marker == 0xE1 && view.is(at + 4, {"Exif\0\0", 6})) {
      raw.orientation = exif_orientation(view.part(at + 10, length - 8));
    } else if (marker == 0xE2 && length >= 16 && view.is(at + 4, {"ICC_PROFILE\0", 12})) {
      const size_t number = view.u8(at + 16);
      pieces[number] = view.part(at + 18, length - 16);
      most = std::max(most, number);
    }
    at += 2 + length;
  }
  for (size_t i = 1; i <= most; ++i) raw.profile.insert(raw.profile.end(), pieces[i].begin(), pieces[i].end());
}

// Cameras write bytes that nobody needs and other things that libjpeg warns of.
bool loses_pixels(std::string_view warning) {
  constexpr std::string_view kHarmless[] = {"extraneous bytes", "Unknown Adobe", "unknown JFIF",
                                            "Invalid SOS parameters"};
  return std::none_of(std::begin(kHarmless), std::end(kHarmless),
                      [&](std::string_view known) { return warning.find(known) != std::string_view::npos; });
}

}  // namespace

RawPicture decode_jpeg(const PictureFile& file) {
  const Turbojpeg& library = Turbojpeg::get();
  const std::unique_ptr<void, FreeDecoder> decoder(library.tjInitDecompress());
  if (!decoder) throw Error(ErrorCode::kOutOfMemory, "libjpeg-turbo could not allocate memory");
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.bytes.data());
  const auto size = static_cast<unsigned long>(file.bytes.size());
  const auto reason = [&] { return std::string(library.tjGetErrorStr2(decoder.get())); };
  int width = 0, height = 0, sampling = 0, colours = 0;
  if (library.tjDecompressHeader3(decoder.get(), bytes, size, &width, &height, &sampling, &colours) != 0) {
    throw file.bad(cat("the JPEG cannot be read: ", reason()));
  }
  if (width < 1 || height < 1) throw file.bad("the JPEG cannot be read: it ends before its size is said");
  const bool has_black = colours == TJCS_CMYK || colours == TJCS_YCCK;
  RawPicture raw = file.make(width, height, has_black ? RawFormat::kInverseCmyk : RawFormat::kRgb);
  read_segments(file.bytes, raw);
  const auto decode = [&](int flags) {
    return library.tjDecompress2(decoder.get(), bytes, size, raw.pixels.data(), width, 0, height,
                                 has_black ? TJPF_CMYK : TJPF_RGB, TJFLAG_LIMITSCANS | flags) == 0;
  };
  // Only one warning can be asked for: the first, or else the last.
  if (decode(TJFLAG_STOPONWARNING)) return raw;
  std::string why = reason();
  const bool is_warning = library.tjGetErrorCode(decoder.get()) == TJERR_WARNING;
  if (is_warning && !loses_pixels(why)) {
    if (decode(0)) return raw;
    why = reason();
    if (library.tjGetErrorCode(decoder.get()) == TJERR_WARNING && !loses_pixels(why)) return raw;
  }
  throw file.bad(cat("the JPEG of ", width, " x ", height, " cannot be decoded: ", why));
}
#else
RawPicture decode_jpeg(const PictureFile& file) {
  throw Error(ErrorCode::kUnsupported, cat(file.name, ": JPEG needs libjpeg-turbo, which this build is without"));
}
#endif

}  // namespace wick
