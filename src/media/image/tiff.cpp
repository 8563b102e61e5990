#include "base/text.h"
#include "media/image/decoders.h"

#if WICK_HAS_TIFF
#include <tiffio.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "media/image/system_library.h"
#endif

namespace wick {

#if WICK_HAS_TIFF
namespace {

#define WICK_TIFF_FUNCTIONS(each)                                                                                    \
  each(TIFFClientOpen) each(TIFFClose) each(TIFFSetErrorHandler) each(TIFFSetWarningHandler) each(TIFFGetField)      \
      each(TIFFRGBAImageOK) each(TIFFRGBAImageBegin) each(TIFFRGBAImageGet) each(TIFFRGBAImageEnd) each(TIFFIsTiled) \
          each(TIFFTileSize64) each(TIFFStripSize64) each(TIFFSetErrorHandlerExt)
WICK_SYSTEM_LIBRARY(Libtiff, WICK_TIFF_FUNCTIONS, "TIFF pictures are read with libtiff (tools/install-deps pictures)",
                    "libtiff.so.6", "libtiff.so.5")

struct Memory {
  ByteSpan bytes;
  uint64_t at = 0;
};
thread_local std::string last_problem;  // libtiff 4.4 and earlier have one handler for all files

void keep_problem(const char*, const char* format, va_list arguments) {
  char text[256] = {};
  std::vsnprintf(text, sizeof(text), format, arguments);
  last_problem = text;
}

tmsize_t read_bytes(thandle_t handle, void* out, tmsize_t count) {
  auto* memory = static_cast<Memory*>(handle);
  if (count <= 0 || memory->at >= memory->bytes.size()) return 0;
  const auto got = std::min<uint64_t>(static_cast<uint64_t>(count), memory->bytes.size() - memory->at);
  std::memcpy(out, memory->bytes.data() + memory->at, got);
  memory->at += got;
  return static_cast<tmsize_t>(got);
}
tmsize_t write_bytes(thandle_t, void*, tmsize_t) { return 0; }
toff_t seek_bytes(thandle_t handle, toff_t offset, int whence) {
  auto* memory = static_cast<Memory*>(handle);
  if (whence == SEEK_SET) memory->at = offset;
  if (whence == SEEK_CUR) memory->at += offset;
  if (whence == SEEK_END) memory->at = memory->bytes.size() + offset;
  return memory->at;
}
int close_bytes(thandle_t) { return 0; }
toff_t size_of_bytes(thandle_t handle) { return static_cast<Memory*>(handle)->bytes.size(); }

struct CloseTiff {
  void operator()(TIFF* tiff) const { Libtiff::get().TIFFClose(tiff); }
};

}  // namespace

RawPicture decode_tiff(const PictureFile& file) {
  const Libtiff& library = Libtiff::get();
  static const bool handlers_set = [&] {
    library.TIFFSetWarningHandler(nullptr);
    library.TIFFSetErrorHandler(keep_problem);
    return true;
  }();
  (void)handlers_set;
  last_problem.clear();
  Memory memory{file.bytes};
  // "m": not mapped, through the functions here.
  const std::unique_ptr<TIFF, CloseTiff> tiff(library.TIFFClientOpen(
      "picture", "rm", &memory, read_bytes, write_bytes, seek_bytes, close_bytes, size_of_bytes, nullptr, nullptr));
  const auto cannot = [&](std::string_view reason) { return file.bad(cat("the TIFF cannot be decoded: ", reason)); };
  if (!tiff) throw cannot(last_problem);
  uint32_t width = 0, height = 0, profile_size = 0;
  uint16_t orientation = 1;
  void* profile = nullptr;
  library.TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  library.TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  library.TIFFGetField(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
  RawPicture raw = file.make(width, height, RawFormat::kRgbaMultiplied);
  const uint64_t piece =
      library.TIFFIsTiled(tiff.get()) ? library.TIFFTileSize64(tiff.get()) : library.TIFFStripSize64(tiff.get());
  if (piece > static_cast<uint64_t>(file.limits.max_pixels) * 8) {
    throw cannot(cat("it is cut into pieces of ", piece, " bytes"));
  }
  char reason[1024] = {};
  TIFFRGBAImage image;
  if (!library.TIFFRGBAImageOK(tiff.get(), reason) || !library.TIFFRGBAImageBegin(&image, tiff.get(), 1, reason)) {
    throw Error(ErrorCode::kUnsupported,
                cat(file.name, ": the TIFF is of a kind that libtiff does not convert: ", reason));
  }
  image.req_orientation = image.orientation;  // rows as they lie in the file; they are turned later
  std::vector<uint32_t> pixels(static_cast<size_t>(width) * height);
  const bool is_decoded = library.TIFFRGBAImageGet(&image, pixels.data(), width, height) != 0;
  const bool has_alpha = image.alpha != 0;
  library.TIFFRGBAImageEnd(&image);
  if (!is_decoded) throw cannot(last_problem.empty() ? "it is damaged or ends early" : std::string_view(last_problem));
  for (size_t i = 0; i < pixels.size(); ++i) {
    raw.pixels[4 * i] = static_cast<uint8_t>(TIFFGetR(pixels[i]));
    raw.pixels[4 * i + 1] = static_cast<uint8_t>(TIFFGetG(pixels[i]));
    raw.pixels[4 * i + 2] = static_cast<uint8_t>(TIFFGetB(pixels[i]));
    raw.pixels[4 * i + 3] = has_alpha ? static_cast<uint8_t>(TIFFGetA(pixels[i])) : uint8_t{255};
  }
  raw.orientation = orientation;
  uint16_t kind = 0;
  library.TIFFGetField(tiff.get(), TIFFTAG_PHOTOMETRIC, &kind);
  // libtiff has converted inks to red, green and blue already: their profile says nothing about the result.
  if (kind != PHOTOMETRIC_SEPARATED && library.TIFFGetField(tiff.get(), TIFFTAG_ICCPROFILE, &profile_size, &profile)) {
    const auto* bytes = static_cast<const std::byte*>(profile);
    raw.profile.assign(bytes, bytes + profile_size);
  }
  return raw;
}
#else
RawPicture decode_tiff(const PictureFile& file) {
  throw Error(ErrorCode::kUnsupported, cat(file.name, ": TIFF needs libtiff, which this build is without"));
}
#endif

}  // namespace wick
