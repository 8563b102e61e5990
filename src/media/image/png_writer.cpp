#include "media/image/png_writer.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr size_t kStoredBytes = 65535;  // of a block that is not compressed

std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ (value >> 1) : value >> 1;
    table[i] = value;
  }
  return table;
}

uint32_t crc_of(std::string_view bytes) {
  static const std::array<uint32_t, 256> table = make_table();
  uint32_t crc = 0xFFFFFFFFu;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ (crc >> 8);
  return ~crc;
}

void add_big_endian(std::string& to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to += static_cast<char>(value >> shift);
}

void add_chunk(std::string& to, std::string_view type, std::string_view data) {
  add_big_endian(to, static_cast<uint32_t>(data.size()));
  const std::string typed = cat(type, data);
  to += typed;
  add_big_endian(to, crc_of(typed));
}

// A zlib stream of stored blocks.
std::string stored(std::string_view raw) {
  std::string out = "\x78\x01";
  uint32_t low = 1, high = 0;
  for (const char c : raw) {
    low = (low + static_cast<unsigned char>(c)) % 65521;
    high = (high + low) % 65521;
  }
  size_t at = 0;
  do {
    const size_t count = std::min(kStoredBytes, raw.size() - at);
    const auto length = static_cast<uint16_t>(count);
    out += static_cast<char>(at + count == raw.size());
    for (const uint16_t each : {length, static_cast<uint16_t>(~length)}) {
      out += static_cast<char>(each & 0xFF);
      out += static_cast<char>(each >> 8);
    }
    out += raw.substr(at, count);
    at += count;
  } while (at < raw.size());
  add_big_endian(out, high << 16 | low);
  return out;
}

std::string write(const uint8_t* pixels, int width, int height, int channels) {
  std::string header;
  add_big_endian(header, static_cast<uint32_t>(width));
  add_big_endian(header, static_cast<uint32_t>(height));
  header += '\x08';                           // bits
  header += channels == 3 ? '\x02' : '\x00';  // colours or grey
  header.append(3, '\x00');
  const auto row = static_cast<size_t>(width) * static_cast<size_t>(channels);
  std::string raw;
  raw.reserve((row + 1) * static_cast<size_t>(height));
  for (int y = 0; y < height; ++y) {
    raw += '\x00';  // rows as they are
    raw.append(reinterpret_cast<const char*>(pixels) + static_cast<size_t>(y) * row, row);
  }
  std::string out = "\x89PNG\r\n\x1A\n";
  add_chunk(out, "IHDR", header);
  add_chunk(out, "IDAT", stored(raw));
  add_chunk(out, "IEND", {});
  return out;
}

}  // namespace

std::string png_bytes(const Picture& picture) { return write(picture.rgb.data(), picture.width, picture.height, 3); }

std::string png_bytes(std::span<const uint8_t> grey, int width, int height) {
  if (width < 1 || height < 1 || grey.size() != static_cast<size_t>(width) * static_cast<size_t>(height)) {
    throw Error(ErrorCode::kInvalidArgument, cat(grey.size(), " values are no picture of ", width, " x ", height));
  }
  return write(grey.data(), width, height, 1);
}

}  // namespace wick
