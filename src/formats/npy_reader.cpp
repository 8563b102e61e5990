#include "formats/npy_reader.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"
#include "formats/byte_reader.h"

namespace wick {
namespace {

// What stands behind 'key': in the header, a literal of Python.
std::string_view literal(std::string_view header, std::string_view key, const std::filesystem::path& path) {
  const size_t at = header.find(cat("'", key, "':"));
  if (at == std::string_view::npos) throw bad_file(path, cat("its header has no '", key, "'"));
  std::string_view rest = header.substr(at + key.size() + 3);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  return rest;
}

// CRC-32 of zip files.
uint32_t crc32(std::string_view bytes) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value & 1 ? 0xEDB88320u ^ value >> 1 : value >> 1;
      table[i] = value;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char c : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(c)) & 0xFF] ^ crc >> 8;
  return ~crc;
}

constexpr uint32_t kLocalHeader = 0x04034B50, kCentralHeader = 0x02014B50, kCentralEnd = 0x06054B50;

}  // namespace

NpyArray read_npy(std::span<const std::byte> bytes, const std::filesystem::path& path) {
  ByteReader reader(bytes, path);
  const std::string_view magic(reinterpret_cast<const char*>(bytes.data()), std::min<size_t>(bytes.size(), 6));
  if (magic != "\x93NUMPY") throw bad_file(path, "is no .npy file");
  reader.skip(6);
  const auto version = reader.read<uint8_t>();
  reader.read<uint8_t>();
  if (version < 1 || version > 3) throw bad_file(path, cat("is of version ", static_cast<int>(version), " of .npy"));
  const uint64_t length = version == 1 ? reader.read<uint16_t>() : reader.read<uint32_t>();
  const size_t start = reader.position();
  reader.skip(length);
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + start, length);
  NpyArray array;
  std::string_view type = literal(header, "descr", path);
  const size_t quote = type.starts_with('\'') ? type.find('\'', 1) : std::string_view::npos;
  if (quote == std::string_view::npos) throw bad_file(path, "has a type of several parts");
  array.type = type.substr(1, quote - 1);
  if (!literal(header, "fortran_order", path).starts_with("False")) throw bad_file(path, "is in column order");
  std::string_view shape = literal(header, "shape", path);
  const size_t end = shape.find(')');
  if (!shape.starts_with('(') || end == std::string_view::npos) throw bad_file(path, "has no shape");
  shape = shape.substr(1, end - 1);
  while (!shape.empty()) {
    if (shape.front() == ' ' || shape.front() == ',') {
      shape.remove_prefix(1);
      continue;
    }
    int64_t size = 0;
    const auto [stop, problem] = std::from_chars(shape.data(), shape.data() + shape.size(), size);
    if (problem != std::errc() || size < 0 || array.dims.size() == 64)
      throw bad_file(path, cat("has the shape ", in_quotes(shape)));
    array.dims.push_back(size);
    shape.remove_prefix(static_cast<size_t>(stop - shape.data()));
  }
  array.bytes = bytes.subspan(reader.position());
  return array;
}

std::vector<std::pair<std::string, NpyArray>> read_npz(const MappedFile& file) {
  const auto bytes = file.bytes();
  const auto load = [&](size_t at, int size) {
    if (at > bytes.size() || bytes.size() - at < static_cast<size_t>(size))
      throw bad_file(file.path(), cat("ends inside a header at byte ", at));
    uint64_t value = 0;
    for (int i = size; i-- > 0;) value = value << 8 | static_cast<uint64_t>(bytes[at + static_cast<size_t>(i)]);
    return value;
  };
  // The end of the directory stands at the end of the file, behind it perhaps a comment.
  constexpr size_t kEnd = 22, kMostComment = 65535;
  size_t end = bytes.size() < kEnd ? 0 : bytes.size() - kEnd;
  const size_t first = end > kMostComment ? end - kMostComment : 0;
  while (end > first && load(end, 4) != kCentralEnd) --end;
  if (bytes.size() < kEnd || load(end, 4) != kCentralEnd) throw bad_file(file.path(), "is no .npz file");
  const uint64_t count = load(end + 10, 2);
  size_t at = load(end + 16, 4);
  std::vector<std::pair<std::string, NpyArray>> arrays;
  for (uint64_t i = 0; i < count; ++i) {
    if (load(at, 4) != kCentralHeader) throw bad_file(file.path(), cat("has no entry at byte ", at));
    const uint64_t method = load(at + 10, 2), size = load(at + 20, 4), name_size = load(at + 28, 2),
                   extra = load(at + 30, 2), comment = load(at + 32, 2), place = load(at + 42, 4);
    load(at + 46 + name_size, 0);
    std::string name(reinterpret_cast<const char*>(bytes.data()) + at + 46, name_size);
    if (method != 0)
      throw Error(ErrorCode::kUnsupported,
                  cat(file.path(), ": ", in_quotes(name), " is compressed; numpy.savez does not"));
    if (size == 0xFFFFFFFF || place == 0xFFFFFFFF)
      throw Error(ErrorCode::kUnsupported, cat(file.path(), ": ", in_quotes(name), " has 4 GiB or more"));
    if (load(place, 4) != kLocalHeader) throw bad_file(file.path(), cat("has no file at byte ", place));
    const size_t data = place + 30 + load(place + 26, 2) + load(place + 28, 2);
    if (data > bytes.size() || size > bytes.size() - data)
      throw bad_file(file.path(), cat("ends inside ", in_quotes(name)));
    const NpyArray array = read_npy(bytes.subspan(data, size), file.path());
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    arrays.emplace_back(std::move(name), array);
    at += 46 + name_size + extra + comment;
  }
  return arrays;
}

std::string npz_bytes(const std::vector<std::pair<std::string, std::string>>& files) {
  std::string out, directory;
  const auto put = [](std::string& to, uint64_t value, int size) {
    for (int i = 0; i < size; ++i) to += static_cast<char>(value >> 8 * i & 0xFF);
  };
  for (const auto& [name, content] : files) {
    const size_t place = out.size();
    if (content.size() >= 0xFFFFFFFF || place >= 0xFFFFFFFF)
      throw Error(ErrorCode::kUnsupported, "an .npz of 4 GiB or more");
    std::string about;  // what both headers say: version, flags, method, time, date, checksum, sizes, name, extra
    put(about, 20, 2), put(about, 0, 6), put(about, 0x21, 2);
    put(about, crc32(content), 4);
    put(about, content.size(), 4), put(about, content.size(), 4);
    put(about, name.size(), 2), put(about, 0, 2);
    put(out, kLocalHeader, 4);
    out += about + name + content;
    put(directory, kCentralHeader, 4), put(directory, 20, 2);
    directory += about;
    put(directory, 0, 10);  // comment, disk, attributes
    put(directory, place, 4);
    directory += name;
  }
  const size_t start = out.size();
  out += directory;
  put(out, kCentralEnd, 4), put(out, 0, 4);
  put(out, files.size(), 2), put(out, files.size(), 2);
  put(out, directory.size(), 4), put(out, start, 4), put(out, 0, 2);
  return out;
}

}  // namespace wick
