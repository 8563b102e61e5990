#include "formats/gguf/gguf.h"

#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "formats/byte_reader.h"
#include "formats/gguf/gguf_metadata.h"
#include "formats/gguf/gguf_types.h"

namespace wick {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF data is little endian");

struct Counts {
  uint64_t tensors;
  uint64_t keys;
};

Counts read_counts(ByteReader& reader) {
  reader.skip(kGgufMagic.size());
  const auto version = reader.read<uint32_t>();
  if (version != 0 && (version & 0xFFFF) == 0) {
    throw bad_file(reader.path(), "is a big-endian GGUF file, Wick reads little-endian ones");
  }
  if (version != 2 && version != 3) {
    throw bad_file(reader.path(), cat("is GGUF version ", version, ", Wick reads versions 2 and 3"));
  }
  const auto tensors = reader.read<uint64_t>();
  const auto keys = reader.read<uint64_t>();
  // A tensor takes at least 24 bytes of the header, a key 13.
  if (tensors > reader.left() / 24) {
    throw reader.bad(cat("claims ", tensors, " tensors but the file has ", reader.left(), " bytes left"));
  }
  if (keys > reader.left() / 13) {
    throw reader.bad(cat("claims ", keys, " keys but the file has ", reader.left(), " bytes left"));
  }
  if (keys > kMaxMetadataKeys) throw reader.bad(cat("claims ", keys, " keys, the most is ", kMaxMetadataKeys));
  return {tensors, keys};
}

int64_t read_alignment(const Metadata& metadata, const std::filesystem::path& path) {
  const MetaValue* value = metadata.find(kGgufAlignmentKey);
  if (!value) return kGgufAlignment;
  const int64_t alignment = metadata.integer(kGgufAlignmentKey);
  if (alignment <= 0 || alignment > UINT32_MAX || !std::has_single_bit(static_cast<uint64_t>(alignment))) {
    throw bad_file(path, cat("'", kGgufAlignmentKey, "' is ", alignment, ", expected a power of two"));
  }
  return alignment;
}

Shape read_shape(ByteReader& reader) {
  const auto rank = reader.read<uint32_t>();
  if (rank > kMaxRank) throw reader.bad(cat("has ", rank, " dimensions, the most is ", kMaxRank));
  int64_t dims[kMaxRank] = {};
  for (uint32_t d = rank; d-- > 0;) {  // innermost first in the file
    const auto size = reader.read<uint64_t>();
    if (size > INT64_MAX) throw reader.bad(cat("has a dimension of ", size, " elements"));
    dims[d] = static_cast<int64_t>(size);
  }
  try {
    return Shape(std::span<const int64_t>(dims, rank));
  } catch (const Error& error) {
    throw reader.bad(cat("has a bad ", error.what()));
  }
}

TensorEntry read_tensor(ByteReader& reader, int64_t number, int64_t alignment) {
  TensorEntry entry;
  reader.set_place("tensor", number);
  entry.name = reader.read_text();
  reader.set_place("tensor", entry.name);
  if (entry.name.empty()) throw bad_file(reader.path(), cat("tensor ", number, " has an empty name"));
  if (!is_utf8(entry.name)) throw reader.bad("has a name that is not valid UTF-8");
  entry.shape = read_shape(reader);
  const auto code = reader.read<uint32_t>();
  const GgufType* type = gguf_type(code);
  if (!type) throw reader.bad(cat("has the unknown type ", code));
  entry.type = type->name;
  entry.dtype = type->dtype;
  entry.bytes = gguf_bytes(reader, *type, entry.shape);
  const auto offset = reader.read<uint64_t>();
  if (offset > INT64_MAX || offset % alignment != 0) {
    throw reader.bad(cat("has the offset ", offset, ", which is not a multiple of ", alignment));
  }
  entry.offset = static_cast<int64_t>(offset);
  return entry;
}

// Tensors lie inside the file, one after the other. Gaps are allowed: padding makes them anyway.
void check_data_section(const std::vector<TensorEntry>& sorted, int64_t data_start, int64_t file_bytes,
                        const std::filesystem::path& path) {
  const TensorEntry* previous = nullptr;
  for (const TensorEntry& entry : sorted) {
    const auto end = checked_add(entry.offset, entry.bytes);
    if (!end || *end > file_bytes - data_start) {
      throw bad_file(path,
                     cat("tensor ", in_quotes(entry.name), " takes ", entry.bytes, " bytes from byte ", entry.offset,
                         " of the data, which has ", std::max<int64_t>(0, file_bytes - data_start)));
    }
    if (previous && entry.offset < previous->offset + previous->bytes) {
      throw bad_file(path,
                     cat("tensor ", in_quotes(entry.name), " begins at byte ", entry.offset, " of the data, inside ",
                         in_quotes(previous->name), ", which ends at ", previous->offset + previous->bytes));
    }
    previous = &entry;
  }
}

}  // namespace

FileContents read_gguf(const std::shared_ptr<const MappedFile>& file, int file_index) {
  const std::filesystem::path& path = file->path();
  ByteReader reader(file->bytes(), path);
  const Counts counts = read_counts(reader);
  FileContents contents;
  contents.metadata = read_gguf_metadata(reader, counts.keys, file);
  const int64_t alignment = read_alignment(contents.metadata, path);

  std::vector<TensorEntry>& entries = contents.entries;
  entries.reserve(counts.tensors);  // checked against the file's size
  for (uint64_t i = 0; i < counts.tensors; ++i) {
    entries.push_back(read_tensor(reader, static_cast<int64_t>(i), alignment));
    entries.back().file = file_index;
  }
  sort_by_offset(entries);
  const int64_t data_start = round_up(static_cast<int64_t>(reader.position()), alignment);
  check_data_section(entries, data_start, static_cast<int64_t>(file->bytes().size()), path);
  for (TensorEntry& entry : entries) entry.offset += data_start;
  return contents;
}

}  // namespace wick
