#include <array>
#include <bit>

#include "base/text.h"
#include "media/image/byte_view.h"
#include "media/image/decoders.h"

namespace wick {
namespace {

enum Compression : uint32_t { kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3, kAlphaMasks = 6 };

// Where the bits of a colour lie, and what they are at most.
struct Channel {
  uint32_t mask = 0, most = 0;
  int shift = 0;

  explicit Channel(uint32_t bits = 0) : mask(bits), shift(bits ? std::countr_zero(bits) : 0) { most = mask >> shift; }
  uint8_t of(uint32_t pixel) const {
    if (most == 0) return 0;
    return static_cast<uint8_t>((uint64_t{(pixel & mask) >> shift} * 255 + most / 2) / most);
  }
};

struct Header {
  size_t pixels_at = 0, palette_at = 0;
  int64_t width = 0, height = 0;
  bool from_top = false;
  uint32_t bits = 0, compression = kPlain, colours = 0;
  int palette_entry = 4;
  std::array<Channel, 4> channels;  // red, green, blue, alpha
};

Header read_header(const PictureFile& file, const ByteView& view) {
  Header header;
  const uint32_t size = view.little(14, 4);
  if (!view.has(14, size)) throw file.bad(cat("the BMP ends inside its header of ", size, " bytes"));
  header.pixels_at = view.little(10, 4);
  if (size == 12) {  // of OS/2
    header.width = view.little(18, 2);
    header.height = view.little(20, 2);
    header.bits = view.little(24, 2);
    header.palette_entry = 3;
  } else {
    if (size < 40) throw file.bad(cat("the BMP has a header of ", size, " bytes, which no version has"));
    header.width = static_cast<int32_t>(view.little(18, 4));
    header.height = static_cast<int32_t>(view.little(22, 4));
    header.bits = view.little(28, 2);
    header.compression = view.little(30, 4);
    header.colours = view.little(46, 4);
    header.from_top = header.height < 0;
    header.height = header.from_top ? -header.height : header.height;
  }
  header.palette_at = 14 + size;
  std::array<uint32_t, 4> masks = {};
  if (header.bits == 16) masks = {0x7C00, 0x03E0, 0x001F, 0};
  if (header.bits == 24 || header.bits == 32) masks = {0xFF0000, 0x00FF00, 0x0000FF, 0};
  if (header.compression == kMasks || header.compression == kAlphaMasks) {
    if (header.bits != 16 && header.bits != 32) throw file.bad(cat("the BMP has masks for ", header.bits, " bits"));
    // Behind the short header, or in it.
    const size_t count = size >= 56 || header.compression == kAlphaMasks ? 4 : 3;
    for (size_t i = 0; i < count; ++i) masks[i] = view.little(54 + 4 * i, 4);
    if (size == 40) header.palette_at += 4 * count;
  } else if (header.compression != kPlain && !(header.compression == kRuns8 && header.bits == 8) &&
             !(header.compression == kRuns4 && header.bits == 4)) {
    throw Error(ErrorCode::kUnsupported, cat(file.name, ": the BMP has compression ", header.compression, " of ",
                                             header.bits, " bits, which is not read"));
  }
  for (size_t i = 0; i < 4; ++i) header.channels[i] = Channel(masks[i]);
  constexpr std::array kBits = {1, 2, 4, 8, 16, 24, 32};
  bool is_known = false;
  for (const int bits : kBits) is_known |= static_cast<uint32_t>(bits) == header.bits;
  if (!is_known) throw file.bad(cat("the BMP has ", header.bits, " bits a pixel"));
  return header;
}

struct Palette {
  std::array<std::array<uint8_t, 3>, 256> colours = {};
  uint32_t size = 0;
};

Palette read_palette(const PictureFile& file, const ByteView& view, const Header& header) {
  Palette palette;
  if (header.bits > 8) return palette;
  palette.size = header.colours == 0 ? 1u << header.bits : header.colours;
  if (palette.size > 1u << header.bits)
    throw file.bad(cat("the BMP of ", header.bits, " bits has ", palette.size, " colours"));
  const auto entry = static_cast<size_t>(header.palette_entry);
  if (!view.has(header.palette_at, palette.size * entry)) throw file.bad("the BMP ends inside its palette");
  for (uint32_t i = 0; i < palette.size; ++i) {
    const size_t at = header.palette_at + i * entry;
    palette.colours[i] = {view.u8(at + 2), view.u8(at + 1), view.u8(at)};
  }
  return palette;
}

class BmpReader {
 public:
  BmpReader(const PictureFile& file, const ByteView& view, const Header& header)
      : file_(file),
        view_(view),
        header_(header),
        palette_(read_palette(file, view, header)),
        raw_(file.make(header.width, header.height, header.channels[3].mask ? RawFormat::kRgba : RawFormat::kRgb)) {}

  RawPicture read() {
    if (header_.compression == kRuns8 || header_.compression == kRuns4) {
      read_runs();
    } else {
      read_rows();
    }
    return std::move(raw_);
  }

 private:
  uint8_t* pixel(int64_t x, int64_t y) {
    const int64_t row = header_.from_top ? y : header_.height - 1 - y;
    return raw_.pixels.data() + (row * header_.width + x) * raw_.channels();
  }

  void set_index(int64_t x, int64_t y, uint32_t index) {
    if (index >= palette_.size) throw file_.bad(cat("the BMP has colour ", index, " of ", palette_.size));
    std::copy_n(palette_.colours[index].data(), 3, pixel(x, y));
  }

  void read_rows() {
    const int64_t stride = (header_.width * header_.bits + 31) / 32 * 4;
    const auto at = static_cast<int64_t>(header_.pixels_at);
    const auto size = static_cast<int64_t>(view_.size());
    const int64_t last = (header_.width * header_.bits + 7) / 8;  // the padding of the last row may be missing
    if (at < 26 || (header_.height - 1) * stride + last > size - at) {
      throw file_.bad(cat("the BMP of ", header_.width, " x ", header_.height, " ends early, at byte ", size));
    }
    for (int64_t y = 0; y < header_.height; ++y) {
      const auto row = static_cast<size_t>(at + y * stride);
      for (int64_t x = 0; x < header_.width; ++x) read_pixel(row, x, y);
    }
  }

  void read_pixel(size_t row, int64_t x, int64_t y) {
    const auto column = static_cast<size_t>(x);
    if (header_.bits <= 8) {
      const size_t bit = column * header_.bits;
      const uint32_t byte = view_.u8(row + bit / 8);
      set_index(x, y, byte >> (8 - header_.bits - bit % 8) & ((1u << header_.bits) - 1));
      return;
    }
    const uint32_t value = view_.little(row + column * (header_.bits / 8), static_cast<int>(header_.bits / 8));
    uint8_t* out = pixel(x, y);
    for (int i = 0; i < raw_.channels(); ++i) out[i] = header_.channels[static_cast<size_t>(i)].of(value);
  }

  // Pairs of a count and a colour; a count of 0 announces the end of a row (0) or of the picture (1), a jump (2), or
  // that many colours as they are. What is jumped over has colour 0.
  void read_runs() {
    for (int64_t y = 0; y < header_.height; ++y) {
      for (int64_t x = 0; x < header_.width; ++x) set_index(x, y, 0);
    }
    const bool half = header_.compression == kRuns4;
    size_t at = header_.pixels_at;
    int64_t x = 0, y = 0;
    const auto put = [&](uint32_t index) {
      if (x >= header_.width || y >= header_.height) throw file_.bad("the BMP has a run that leaves the picture");
      set_index(x++, y, index);
    };
    const auto nibble = [&](size_t byte, uint32_t i) {
      const uint32_t value = view_.u8(byte);
      return half ? (i % 2 == 0 ? value >> 4 : value & 15) : value;
    };
    while (y < header_.height) {
      if (!view_.has(at, 2)) throw file_.bad(cat("the BMP ends early, in row ", y));
      const uint32_t count = view_.u8(at), code = view_.u8(at + 1);
      at += 2;
      if (count > 0) {
        for (uint32_t i = 0; i < count; ++i) put(nibble(at - 1, i));
      } else if (code == 0) {
        x = 0;
        ++y;
      } else if (code == 1) {
        return;
      } else if (code == 2) {
        if (!view_.has(at, 2)) throw file_.bad(cat("the BMP ends early, in row ", y));
        x += view_.u8(at);
        y += view_.u8(at + 1);
        at += 2;
      } else {
        const size_t bytes = half ? (code + 1) / 2 : code;
        if (!view_.has(at, bytes)) throw file_.bad(cat("the BMP ends early, in row ", y));
        for (uint32_t i = 0; i < code; ++i) put(nibble(at + (half ? i / 2 : i), i));
        at += bytes + bytes % 2;
      }
    }
  }

  const PictureFile& file_;
  const ByteView& view_;
  const Header& header_;
  Palette palette_;
  RawPicture raw_;
};

}  // namespace

RawPicture decode_bmp(const PictureFile& file) {
  const ByteView view(file.bytes);
  const Header header = read_header(file, view);
  return BmpReader(file, view, header).read();
}

}  // namespace wick
