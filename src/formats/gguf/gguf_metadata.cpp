#include "formats/gguf/gguf_metadata.h"

#include <unordered_set>

namespace wick {
namespace {

constexpr int kMaxDepth = 8;  // of arrays inside arrays; writers known use 1

MetaType read_type(ByteReader& reader, std::string_view what) {
  const auto code = reader.read<uint32_t>();
  if (code > static_cast<uint32_t>(MetaType::kF64)) throw reader.bad(cat("has the unknown ", what, " ", code));
  return static_cast<MetaType>(code);
}

void check_bools(ByteReader& reader, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    const auto value = reader.read<uint8_t>();
    if (value > 1) throw reader.bad(cat("holds the bool ", value, ", expected 0 or 1"));
  }
}

// Moves past the elements, checking that they are inside the file.
void skip_elements(ByteReader& reader, MetaType type, uint64_t count, int depth);

struct ArrayHead {
  MetaType type;
  uint64_t count;
};

ArrayHead read_array_head(ByteReader& reader) {
  const MetaType type = read_type(reader, "array element type");
  const auto count = reader.read<uint64_t>();
  const uint64_t least = type == MetaType::kText ? 8 : type == MetaType::kArray ? 12 : size_of(type);
  if (count > reader.left() / least) {
    throw reader.bad(cat("claims an array of ", count, " ", to_string(type), " elements but the file has ",
                         reader.left(), " bytes left"));
  }
  return {type, count};
}

void skip_elements(ByteReader& reader, MetaType type, uint64_t count, int depth) {
  if (type == MetaType::kArray) {
    if (depth == kMaxDepth) throw reader.bad(cat("holds arrays nested more than ", kMaxDepth, " levels deep"));
    for (uint64_t i = 0; i < count; ++i) {
      const ArrayHead head = read_array_head(reader);
      skip_elements(reader, head.type, head.count, depth + 1);
    }
  } else if (type == MetaType::kText) {
    for (uint64_t i = 0; i < count; ++i) reader.read_text();
  } else if (type == MetaType::kBool) {
    check_bools(reader, count);
  } else {
    reader.skip(count * size_of(type));  // cannot overflow: the count was checked against the file
  }
}

MetaValue read_value(ByteReader& reader, const std::shared_ptr<const MappedFile>& file,
                     const std::shared_ptr<const std::string>& source) {
  const MetaType type = read_type(reader, "type");
  switch (type) {
    case MetaType::kU8: return {type, uint64_t{reader.read<uint8_t>()}};
    case MetaType::kI8: return {type, int64_t{reader.read<int8_t>()}};
    case MetaType::kU16: return {type, uint64_t{reader.read<uint16_t>()}};
    case MetaType::kI16: return {type, int64_t{reader.read<int16_t>()}};
    case MetaType::kU32: return {type, uint64_t{reader.read<uint32_t>()}};
    case MetaType::kI32: return {type, int64_t{reader.read<int32_t>()}};
    case MetaType::kF32: return {type, double{reader.read<float>()}};
    case MetaType::kU64: return {type, reader.read<uint64_t>()};
    case MetaType::kI64: return {type, reader.read<int64_t>()};
    case MetaType::kF64: return {type, reader.read<double>()};
    case MetaType::kText: return {type, std::string(reader.read_text())};
    case MetaType::kBool: {
      const size_t start = reader.position();
      check_bools(reader, 1);
      return {type, reader.since(start)[0] != std::byte{0}};
    }
    case MetaType::kArray: break;
  }
  const ArrayHead head = read_array_head(reader);
  const size_t start = reader.position();
  skip_elements(reader, head.type, head.count, 1);
  return {type, MetaArray{head.type, static_cast<int64_t>(head.count), reader.since(start), file, source}};
}

}  // namespace

int64_t size_of(MetaType type) {
  switch (type) {
    case MetaType::kU8:
    case MetaType::kI8:
    case MetaType::kBool: return 1;
    case MetaType::kU16:
    case MetaType::kI16: return 2;
    case MetaType::kU32:
    case MetaType::kI32:
    case MetaType::kF32: return 4;
    case MetaType::kU64:
    case MetaType::kI64:
    case MetaType::kF64: return 8;
    default: return 0;
  }
}

Metadata read_gguf_metadata(ByteReader& reader, uint64_t count, const std::shared_ptr<const MappedFile>& file) {
  const auto source = std::make_shared<const std::string>(reader.path().string());
  Metadata metadata(*source);
  std::unordered_set<std::string_view> keys;  // views of the file
  for (uint64_t i = 0; i < count; ++i) {
    reader.set_place("key", static_cast<int64_t>(i));
    const std::string_view key = reader.read_text();
    reader.set_place("key", key);
    if (key.empty()) throw reader.bad("is empty");
    if (!is_utf8(key)) throw reader.bad("is not valid UTF-8");
    if (!keys.insert(key).second) throw reader.bad("is given twice");
    metadata.append(std::string(key), read_value(reader, file, source));
  }
  return metadata;
}

}  // namespace wick
