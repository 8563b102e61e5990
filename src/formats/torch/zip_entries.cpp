#include "formats/torch/zip_entries.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/utf8.h"
#include "formats/byte_reader.h"

namespace wick {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kEnd64 = 0x06064b50, kEnd64Place = 0x07064b50;
constexpr size_t kEndBytes = 22, kEnd64PlaceBytes = 20, kMostComment = 65535;
constexpr uint16_t kExtra64 = 1;
constexpr uint32_t kIsIn64 = 0xFFFFFFFF;
constexpr uint64_t kMostEntries = 1 << 20;

struct Directory {
  uint64_t entries = 0, bytes = 0, offset = 0;
};

ByteReader reader_at(const MappedFile& file, uint64_t offset, const char* what) {
  if (offset > file.bytes().size()) {
    throw bad_file(file.path(), cat(what, " of the archive is at byte ", offset, ", behind its end"));
  }
  ByteReader reader(file.bytes().subspan(static_cast<size_t>(offset)), file.path());
  reader.set_place(what, std::string_view("of the archive"));
  return reader;
}

// end: u32 mark, u16 disk, u16 disk of the directory, u16 entries here, u16 entries, u32 bytes, u32 offset, u16 comment
std::optional<size_t> find_end(const MappedFile& file) {
  const auto bytes = file.bytes();
  for (size_t back = kEndBytes; back <= std::min(bytes.size(), kEndBytes + kMostComment); ++back) {
    uint32_t mark = 0;
    std::memcpy(&mark, bytes.data() + bytes.size() - back, sizeof(mark));
    if (mark == kEnd) return bytes.size() - back;
  }
  return std::nullopt;
}

Directory find_directory(const MappedFile& file) {
  const auto end = find_end(file);
  if (!end) throw bad_file(file.path(), "is a zip archive without its end: it was not copied as a whole");
  ByteReader reader = reader_at(file, *end, "the end");
  reader.skip(10);
  Directory directory;
  directory.entries = reader.read<uint16_t>();
  directory.bytes = reader.read<uint32_t>();
  directory.offset = reader.read<uint32_t>();
  if (*end < kEnd64PlaceBytes) return directory;
  ByteReader place = reader_at(file, *end - kEnd64PlaceBytes, "the end");
  if (place.read<uint32_t>() != kEnd64Place) return directory;
  place.skip(4);
  ByteReader large = reader_at(file, place.read<uint64_t>(), "the large end");
  if (large.read<uint32_t>() != kEnd64) throw bad_file(file.path(), "is a zip archive whose large end is not there");
  large.skip(28);
  directory.entries = large.read<uint64_t>();
  directory.bytes = large.read<uint64_t>();
  directory.offset = large.read<uint64_t>();
  return directory;
}

}  // namespace

std::map<std::string, ZipEntry, std::less<>> read_zip_entries(const MappedFile& file) {
  const Directory directory = find_directory(file);
  if (directory.entries > kMostEntries) {
    throw bad_file(file.path(), cat("is a zip archive of ", directory.entries, " files, the most is ", kMostEntries));
  }
  ByteReader reader = reader_at(file, directory.offset, "the directory");
  std::map<std::string, ZipEntry, std::less<>> entries;
  for (uint64_t i = 0; i < directory.entries; ++i) {
    reader.set_place("zip entry", static_cast<int64_t>(i));
    if (reader.read<uint32_t>() != kCentral) throw reader.bad("is not one");
    reader.skip(4);
    const auto flags = reader.read<uint16_t>(), method = reader.read<uint16_t>();
    reader.skip(8);
    uint64_t packed = reader.read<uint32_t>(), bytes = reader.read<uint32_t>();
    const auto name_bytes = reader.read<uint16_t>(), extra_bytes = reader.read<uint16_t>(),
               comment_bytes = reader.read<uint16_t>();
    reader.skip(8);
    uint64_t offset = reader.read<uint32_t>();
    size_t start = reader.position();
    reader.skip(name_bytes);
    const auto name_span = reader.since(start);
    const std::string name(reinterpret_cast<const char*>(name_span.data()), name_span.size());
    start = reader.position();
    reader.skip(extra_bytes);
    ByteReader extra(reader.since(start), file.path());
    extra.set_place("zip entry", name);
    while (extra.left() >= 4) {
      const auto id = extra.read<uint16_t>(), size = extra.read<uint16_t>();
      const size_t begin = extra.position();
      if (id == kExtra64) {
        if (bytes == kIsIn64) bytes = extra.read<uint64_t>();
        if (packed == kIsIn64) packed = extra.read<uint64_t>();
        if (offset == kIsIn64) offset = extra.read<uint64_t>();
      }
      const size_t used = extra.position() - begin;
      if (used > size) throw extra.bad("has an extra field that is too short");
      extra.skip(size - used);
    }
    reader.skip(comment_bytes);
    if (method != 0 || packed != bytes || (flags & 1) != 0) {
      throw Error(ErrorCode::kUnsupported,
                  cat(file.path(), ": ", in_quotes(name), " is compressed, which PyTorch's archives are not"));
    }
    // local: u32 mark .. 26: u16 name bytes, u16 extra bytes; then both, then the contents
    ByteReader local = reader_at(file, offset, "a file");
    if (local.read<uint32_t>() != kLocal)
      throw bad_file(file.path(), cat(in_quotes(name), " is not where it should be"));
    local.skip(22);
    const uint64_t before = 30u + local.read<uint16_t>() + local.read<uint16_t>();
    const uint64_t total = file.bytes().size();
    if (before > total - offset || bytes > total - offset - before) {
      throw bad_file(file.path(),
                     cat(in_quotes(name), " of ", bytes, " bytes ends behind the file, which has ", total));
    }
    if (!entries.emplace(name, ZipEntry{static_cast<int64_t>(offset + before), static_cast<int64_t>(bytes)}).second) {
      throw bad_file(file.path(), cat(in_quotes(name), " is there twice"));
    }
  }
  return entries;
}

}  // namespace wick
