#include "base/text.h"
#include "media/image/decoders.h"

#if WICK_HAS_HEIF
#include <libheif/heif.h>

#include <algorithm>
#include <memory>

#include "media/image/system_library.h"
#endif

namespace wick {

#if WICK_HAS_HEIF
namespace {

#define WICK_HEIF_FUNCTIONS(each)                                                                                  \
  each(heif_context_alloc) each(heif_context_free) each(heif_context_set_maximum_image_size_limit)                 \
      each(heif_context_read_from_memory_without_copy) each(heif_context_get_primary_image_handle)                 \
          each(heif_image_handle_release) each(heif_image_handle_get_width) each(heif_image_handle_get_height)     \
              each(heif_image_handle_has_alpha_channel) each(heif_image_handle_is_premultiplied_alpha)             \
                  each(heif_image_handle_get_raw_color_profile_size) each(heif_image_handle_get_raw_color_profile) \
                      each(heif_decode_image) each(heif_image_release) each(heif_image_get_plane_readonly)         \
                          each(heif_image_get_width) each(heif_image_get_height)                                   \
                              each(heif_image_handle_get_color_profile_type)
WICK_SYSTEM_LIBRARY(Libheif, WICK_HEIF_FUNCTIONS,
                    "HEIF and AVIF pictures are read with libheif (tools/install-deps pictures)", "libheif.so.1")

struct FreeHeif {
  void operator()(heif_context* context) const { Libheif::get().heif_context_free(context); }
  void operator()(heif_image_handle* handle) const { Libheif::get().heif_image_handle_release(handle); }
  void operator()(heif_image* image) const { Libheif::get().heif_image_release(image); }
};

}  // namespace

RawPicture decode_heif(const PictureFile& file) {
  const Libheif& library = Libheif::get();
  const std::string kind(picture_kind(file.bytes));
  const auto check = [&](const heif_error& error) {
    if (error.code == heif_error_Ok) return;
    const bool is_known = error.code != heif_error_Unsupported_filetype && error.code != heif_error_Unsupported_feature;
    std::string reason = error.message ? error.message : "no reason given";
    while (reason.ends_with('\n')) reason.pop_back();
    throw Error(is_known ? ErrorCode::kBadFile : ErrorCode::kUnsupported,
                cat(file.name, ": the ", kind, " cannot be decoded: ", reason));
  };
  const std::unique_ptr<heif_context, FreeHeif> context(library.heif_context_alloc());
  if (!context) throw Error(ErrorCode::kOutOfMemory, "libheif could not allocate memory");
  // libheif takes the square of this as the most pixels, with what codecs put around pictures.
  int side = 4096;
  while (int64_t{side} * side < file.limits.max_pixels) side *= 2;
  library.heif_context_set_maximum_image_size_limit(context.get(), side);
  check(
      library.heif_context_read_from_memory_without_copy(context.get(), file.bytes.data(), file.bytes.size(), nullptr));
  heif_image_handle* found = nullptr;
  check(library.heif_context_get_primary_image_handle(context.get(), &found));
  const std::unique_ptr<heif_image_handle, FreeHeif> handle(found);
  const int width = library.heif_image_handle_get_width(handle.get());
  const int height = library.heif_image_handle_get_height(handle.get());
  const bool has_alpha = library.heif_image_handle_has_alpha_channel(handle.get()) != 0;
  const bool multiplied = has_alpha && library.heif_image_handle_is_premultiplied_alpha(handle.get()) != 0;
  RawPicture raw = file.make(width, height,
                             !has_alpha   ? RawFormat::kRgb
                             : multiplied ? RawFormat::kRgbaMultiplied
                                          : RawFormat::kRgba);
  heif_image* decoded = nullptr;
  check(library.heif_decode_image(handle.get(), &decoded, heif_colorspace_RGB,
                                  has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, nullptr));
  const std::unique_ptr<heif_image, FreeHeif> image(decoded);
  int stride = 0;
  const uint8_t* plane = library.heif_image_get_plane_readonly(image.get(), heif_channel_interleaved, &stride);
  const int row = width * raw.channels();
  if (!plane || stride < row || library.heif_image_get_width(image.get(), heif_channel_interleaved) != width ||
      library.heif_image_get_height(image.get(), heif_channel_interleaved) != height) {
    throw file.bad(
        cat("the ", kind, " says it has ", width, " x ", height, " pixels, and its picture has another size"));
  }
  for (int y = 0; y < height; ++y) {
    std::copy_n(plane + ptrdiff_t{y} * stride, row, raw.pixels.data() + ptrdiff_t{y} * row);
  }
  const auto profile_kind = library.heif_image_handle_get_color_profile_type(handle.get());
  if (profile_kind == heif_color_profile_type_rICC || profile_kind == heif_color_profile_type_prof) {
    raw.profile.resize(library.heif_image_handle_get_raw_color_profile_size(handle.get()));
    if (!raw.profile.empty()) check(library.heif_image_handle_get_raw_color_profile(handle.get(), raw.profile.data()));
  }
  return raw;  // libheif has turned it already
}
#else
RawPicture decode_heif(const PictureFile& file) {
  throw Error(ErrorCode::kUnsupported,
              cat(file.name, ": ", picture_kind(file.bytes), " needs libheif, which this build is without"));
}
#endif

}  // namespace wick
