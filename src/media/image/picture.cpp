#include "media/image/picture.h"

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "base/text.h"
#include "media/byte_input.h"
#include "media/image/byte_view.h"
#include "media/image/decoders.h"

namespace wick {
namespace {

using Decoder = RawPicture (*)(const PictureFile&);
constexpr std::pair<std::string_view, Decoder> kDecoders[] = {
    {"JPEG", decode_jpeg}, {"PNG", decode_png},   {"WebP", decode_webp}, {"GIF", decode_gif},
    {"BMP", decode_bmp},   {"TIFF", decode_tiff}, {"HEIF", decode_heif}, {"AVIF", decode_heif},
};

// The brands of an ISO file that say it holds pictures: the main one, or one of those it agrees with.
std::string_view heif_kind(const ByteView& view) {
  constexpr std::string_view kAvif[] = {"avif", "avis"};
  constexpr std::string_view kHeif[] = {"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1", "mif2"};
  const size_t end = std::min<size_t>(std::max<uint32_t>(view.big(0, 4), 12), 256);
  const auto holds = [&](std::span<const std::string_view> brands, size_t at) {
    return std::any_of(brands.begin(), brands.end(), [&](std::string_view brand) { return view.is(at, brand); });
  };
  for (size_t at = 8; at + 4 <= end; at += at == 8 ? 8 : 4) {
    if (holds(kAvif, at)) return "AVIF";
  }
  for (size_t at = 8; at + 4 <= end; at += at == 8 ? 8 : 4) {
    if (holds(kHeif, at)) return "HEIF";
  }
  return {};
}

}  // namespace

std::string_view picture_kind(std::span<const std::byte> bytes) {
  const ByteView view(bytes);
  if (view.is(0, "\xFF\xD8\xFF")) return "JPEG";
  if (view.is(0, "\x89PNG\r\n\x1A\n")) return "PNG";
  if (view.is(0, "RIFF") && view.is(8, "WEBP")) return "WebP";
  if (view.is(0, "GIF87a") || view.is(0, "GIF89a")) return "GIF";
  if (view.is(0, "BM") && view.has(0, 18) && view.little(14, 4) >= 12 && view.little(14, 4) <= 124) return "BMP";
  if (view.is(0, {"II*\0", 4}) || view.is(0, {"MM\0*", 4}) || view.is(0, {"II+\0", 4}) || view.is(0, {"MM\0+", 4})) {
    return "TIFF";
  }
  if (view.is(4, "ftyp")) return heif_kind(view);
  return {};
}

Error PictureFile::bad(const std::string& what) const { return {ErrorCode::kBadFile, cat(name, ": ", what)}; }

void PictureFile::check_size(int64_t width, int64_t height) const {
  if (width < 1 || height < 1 || width > (1 << 20) || height > (1 << 20)) {
    throw bad(cat("a picture of ", width, " x ", height, " pixels makes no sense"));
  }
  if (width * height > limits.max_pixels) {
    throw Error(ErrorCode::kInvalidArgument, cat(name, ": the picture has ", width, " x ", height,
                                                 " pixels, more than the limit of ", limits.max_pixels));
  }
}

void PictureFile::check_work(int frames, const RawPicture& canvas) const {
  constexpr int64_t kMostPictures = 64;  // as large as one may be
  if (int64_t{frames} * canvas.width * canvas.height <= limits.max_pixels * kMostPictures) return;
  throw Error(ErrorCode::kInvalidArgument,
              cat(name, ": ", frames, " frames of ", canvas.width, " x ", canvas.height,
                  " pixels are more than the limit of ", limits.max_pixels * kMostPictures));
}

RawPicture PictureFile::make(int64_t width, int64_t height, RawFormat format) const {
  check_size(width, height);
  RawPicture raw;
  raw.width = static_cast<int>(width);
  raw.height = static_cast<int>(height);
  raw.format = format;
  raw.pixels.resize(static_cast<size_t>(width * height * raw.channels()));
  return raw;
}

Picture read_picture(std::span<const std::byte> bytes, const std::string& name, const PictureLimits& limits) {
  const PictureFile file{bytes, name, limits};
  if (bytes.empty()) throw file.bad("the file is empty");
  if (std::ssize(bytes) > limits.max_bytes) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(name, ": the file has ", bytes.size(), " bytes, more than the limit of ", limits.max_bytes));
  }
  const std::string_view kind = picture_kind(bytes);
  for (const auto& [known, decode] : kDecoders) {
    if (known == kind) return finish_picture(decode(file), name);
  }
  throw Error(ErrorCode::kUnsupported,
              cat(name, ": this is no picture of a kind that is known (JPEG, PNG, WebP, GIF, BMP, TIFF, HEIF, AVIF)"));
}

std::vector<std::byte> read_standard_input(const PictureLimits& limits) {
  ByteInput input = ByteInput::open("-");
  std::vector<std::byte> bytes;
  for (size_t got = 1; got > 0 && std::ssize(bytes) <= limits.max_bytes;) {
    const size_t before = bytes.size();
    bytes.resize(before + (size_t{1} << 16));
    got = input.read(std::span(bytes).subspan(before));
    bytes.resize(before + got);
  }
  return bytes;
}

Picture load_picture(const std::filesystem::path& path, const PictureLimits& limits) {
  if (path == "-") return read_picture(read_standard_input(limits), "standard input", limits);
  return read_picture(MappedFile::open(path)->bytes(), path.native(), limits);
}

Picture plain_picture(int width, int height, uint8_t red, uint8_t green, uint8_t blue) {
  Picture out;
  out.width = width;
  out.height = height;
  out.rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  for (size_t i = 0; i < out.rgb.size(); i += 3) {
    out.rgb[i] = red;
    out.rgb[i + 1] = green;
    out.rgb[i + 2] = blue;
  }
  return out;
}

Picture crop(const Picture& picture, int left, int top, int width, int height) {
  if (left < 0 || top < 0 || width < 1 || height < 1 || left > picture.width - width || top > picture.height - height) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a part of ", width, " x ", height, " at ", left, ", ", top, " does not lie in a picture of ",
                    picture.width, " x ", picture.height));
  }
  Picture out;
  out.width = width;
  out.height = height;
  out.rgb.resize(static_cast<size_t>(width) * static_cast<size_t>(height) * 3);
  for (int y = 0; y < height; ++y) {
    std::copy_n(picture.row(top + y) + ptrdiff_t{3} * left, ptrdiff_t{3} * width, out.row(y));
  }
  return out;
}

}  // namespace wick
