#include "base/text.h"
#include "media/image/decoders.h"
#include "media/image/exif.h"

#if WICK_HAS_PNG
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "media/image/system_library.h"
#endif

namespace wick {

#if WICK_HAS_PNG
namespace {

#define WICK_PNG_FUNCTIONS(each)                                                                                \
  each(png_create_read_struct) each(png_create_info_struct) each(png_destroy_read_struct) each(png_set_read_fn) \
      each(png_get_io_ptr) each(png_get_error_ptr) each(png_error) each(png_longjmp) each(png_set_longjmp_fn)   \
          each(png_set_user_limits) each(png_read_info) each(png_get_image_width) each(png_get_image_height)    \
              each(png_get_valid) each(png_get_color_type) each(png_set_expand) each(png_set_scale_16)          \
                  each(png_set_gray_to_rgb) each(png_set_interlace_handling) each(png_read_update_info)         \
                      each(png_get_rowbytes) each(png_read_image) each(png_read_end) each(png_get_iCCP)         \
                          each(png_get_eXIf_1)
WICK_SYSTEM_LIBRARY(Libpng, WICK_PNG_FUNCTIONS, "PNG pictures are read with libpng (tools/install-deps pictures)",
                    "libpng16.so.16")

struct Reading {
  const Libpng& library = Libpng::get();
  ByteSpan bytes;
  size_t at = 0;
  char reason[256] = {};
  png_structp png = nullptr;
  png_infop info = nullptr;

  ~Reading() { library.png_destroy_read_struct(&png, &info, nullptr); }
};

void fail(png_structp png, png_const_charp reason) {
  const Libpng& library = Libpng::get();
  auto* reading = static_cast<Reading*>(library.png_get_error_ptr(png));
  std::strncpy(reading->reason, reason, sizeof(reading->reason) - 1);
  library.png_longjmp(png, 1);
}
void ignore(png_structp, png_const_charp) {}

void read_bytes(png_structp png, png_bytep out, size_t count) {
  const Libpng& library = Libpng::get();
  auto* reading = static_cast<Reading*>(library.png_get_io_ptr(png));
  if (count > reading->bytes.size() - reading->at) library.png_error(png, "the file ends early");
  std::memcpy(out, reading->bytes.data() + reading->at, count);
  reading->at += count;
}

// libpng leaves by longjmp: nothing here has a destructor.
bool read_header(Reading* reading) {
  const Libpng& library = reading->library;
  if (setjmp(*library.png_set_longjmp_fn(reading->png, longjmp, sizeof(jmp_buf))) != 0) return false;
  library.png_set_read_fn(reading->png, reading, read_bytes);
  library.png_set_user_limits(reading->png, 1 << 20, 1 << 20);
  library.png_read_info(reading->png, reading->info);
  return true;
}

// 8 bits of red, green, blue and, if the file has it, alpha.
bool start_pixels(Reading* reading, size_t* row_bytes) {
  const Libpng& library = reading->library;
  if (setjmp(*library.png_set_longjmp_fn(reading->png, longjmp, sizeof(jmp_buf))) != 0) return false;
  library.png_set_expand(reading->png);
  library.png_set_scale_16(reading->png);
  library.png_set_gray_to_rgb(reading->png);
  library.png_set_interlace_handling(reading->png);
  library.png_read_update_info(reading->png, reading->info);
  *row_bytes = library.png_get_rowbytes(reading->png, reading->info);
  return true;
}

bool read_pixels(Reading* reading, png_bytepp rows) {
  const Libpng& library = reading->library;
  if (setjmp(*library.png_set_longjmp_fn(reading->png, longjmp, sizeof(jmp_buf))) != 0) return false;
  library.png_read_image(reading->png, rows);
  return true;
}

// EXIF may stand behind the pixels. What is damaged there does not matter.
void read_rest(Reading* reading) {
  const Libpng& library = reading->library;
  if (setjmp(*library.png_set_longjmp_fn(reading->png, longjmp, sizeof(jmp_buf))) != 0) return;
  library.png_read_end(reading->png, reading->info);
}

}  // namespace

RawPicture decode_png(const PictureFile& file) {
  Reading reading;
  reading.bytes = file.bytes;
  const Libpng& library = reading.library;
  reading.png = library.png_create_read_struct(PNG_LIBPNG_VER_STRING, &reading, fail, ignore);
  if (reading.png) reading.info = library.png_create_info_struct(reading.png);
  if (!reading.info) throw Error(ErrorCode::kOutOfMemory, "libpng could not allocate memory, or is another version");
  if (!read_header(&reading)) throw file.bad(cat("the PNG cannot be read: ", reading.reason));
  const bool has_alpha = (library.png_get_color_type(reading.png, reading.info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                         library.png_get_valid(reading.png, reading.info, PNG_INFO_tRNS) != 0;
  const int64_t width = library.png_get_image_width(reading.png, reading.info);
  const int64_t height = library.png_get_image_height(reading.png, reading.info);
  RawPicture raw = file.make(width, height, has_alpha ? RawFormat::kRgba : RawFormat::kRgb);
  const size_t wanted = static_cast<size_t>(width) * static_cast<size_t>(raw.channels());
  size_t row_bytes = 0;
  std::vector<png_bytep> rows(static_cast<size_t>(height));
  for (size_t y = 0; y < rows.size(); ++y) rows[y] = raw.pixels.data() + y * wanted;
  if (!start_pixels(&reading, &row_bytes)) throw file.bad(cat("the PNG cannot be read: ", reading.reason));
  if (row_bytes != wanted) throw file.bad(cat("libpng makes rows of ", row_bytes, " bytes, expected ", wanted));
  if (!read_pixels(&reading, rows.data())) {
    throw file.bad(cat("the PNG of ", width, " x ", height, " cannot be decoded: ", reading.reason));
  }
  read_rest(&reading);
  png_charp name = nullptr;
  int compression = 0;
  png_bytep bytes = nullptr;
  png_uint_32 size = 0;
  if (library.png_get_iCCP(reading.png, reading.info, &name, &compression, &bytes, &size) != 0) {
    const auto profile = std::as_bytes(std::span(bytes, size));
    raw.profile.assign(profile.begin(), profile.end());
  }
  if (library.png_get_eXIf_1(reading.png, reading.info, &size, &bytes) != 0) {
    raw.orientation = exif_orientation(std::as_bytes(std::span(bytes, size)));
  }
  return raw;
}
#else
RawPicture decode_png(const PictureFile& file) {
  throw Error(ErrorCode::kUnsupported, cat(file.name, ": PNG needs libpng, which this build is without"));
}
#endif

}  // namespace wick
