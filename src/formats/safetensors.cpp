#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "base/checked.h"
#include "base/error.h"
#include "base/json.h"
#include "base/text.h"

namespace wick {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little endian");

constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // the limit of the format's own library

std::optional<DType> safetensors_dtype(std::string_view name) {
  constexpr std::pair<std::string_view, DType> kNames[] = {
      {"F64", DType::kF64}, {"F32", DType::kF32}, {"F16", DType::kF16}, {"BF16", DType::kBF16}, {"I64", DType::kI64},
      {"I32", DType::kI32}, {"U32", DType::kU32}, {"U8", DType::kU8},   {"BOOL", DType::kU8},   {"I8", DType::kI8},
  };
  for (const auto& [known, dtype] : kNames) {
    if (known == name) return dtype;
  }
  return std::nullopt;
}

Error bad_file(const std::filesystem::path& path, const std::string& what) {
  return {ErrorCode::kBadFile, cat(path, ": ", what)};
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile result;
  result.file_ = MappedFile::open(path);
  const auto bytes = result.file_->bytes();
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes)) {
    throw bad_file(path, cat("has ", bytes.size(), " bytes, too short for a safetensors file"));
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  if (header_bytes > kMaxHeaderBytes || header_bytes > bytes.size() - sizeof(header_bytes)) {
    throw bad_file(path, cat("the header claims ", header_bytes, " bytes but the file has ", bytes.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + sizeof(header_bytes), header_bytes);
  const Json header = Json::parse(text, path.string());
  result.data_start_ = static_cast<int64_t>(sizeof(header_bytes) + header_bytes);

  for (const auto& [name, field] : header.as_object()) {
    if (name == "__metadata__") {
      for (const auto& [key, value] : field.as_object()) result.metadata_[key] = value.as_text();
      continue;
    }
    const auto dtype = safetensors_dtype(field.at("dtype").as_text());
    if (!dtype) {
      throw Error(ErrorCode::kUnsupported, cat(path, ": tensor '", name, "' has dtype ", field.at("dtype").as_text(),
                                               ", which Wick does not read"));
    }
    const auto dims = field.at("shape").to<std::vector<int64_t>>();
    const auto offsets = field.at("data_offsets").to<std::vector<int64_t>>();
    if (offsets.size() != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) {
      throw bad_file(path, cat("tensor '", name, "' has data_offsets that are not [begin, end]"));
    }
    Entry entry{*dtype, {}, offsets[0], offsets[1]};
    try {
      entry.shape = Shape(std::span<const int64_t>(dims));
    } catch (const Error& error) {
      throw bad_file(path, cat("tensor '", name, "': ", error.what()));
    }
    const auto expected = checked_mul(entry.shape.numel(), size_of(*dtype));
    if (!expected || *expected != entry.end - entry.begin) {
      throw bad_file(path, cat("tensor '", name, "' of ", *dtype, " ", entry.shape, " takes ", entry.end - entry.begin,
                               " bytes in the file"));
    }
    result.entries_.emplace(name, std::move(entry));
  }
  result.check_data_section(static_cast<int64_t>(bytes.size()) - result.data_start_);
  return result;
}

// Tensors must cover the data section exactly: no gap, no overlap, nothing past the end.
void SafetensorsFile::check_data_section(int64_t data_bytes) const {
  std::vector<std::pair<const std::string*, const Entry*>> order;
  for (const auto& [name, entry] : entries_) order.emplace_back(&name, &entry);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second->begin, a.second->end) < std::pair(b.second->begin, b.second->end);
  });
  int64_t expected = 0;
  for (const auto& [name, entry] : order) {
    if (entry->begin != expected) {
      throw bad_file(file_->path(), cat("tensor '", *name, "' begins at byte ", entry->begin, " of the data, expected ",
                                        expected, entry->begin < expected ? " (overlap)" : " (gap)"));
    }
    expected = entry->end;
  }
  if (expected != data_bytes) {
    throw bad_file(file_->path(), cat("the tensors end at byte ", expected, " of the data but it has ", data_bytes));
  }
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

Tensor SafetensorsFile::get(std::string_view name) const {
  const auto found = entries_.find(name);
  if (found == entries_.end()) {
    throw Error(ErrorCode::kInvalidArgument, cat(file_->path(), ": there is no tensor '", name, "'"));
  }
  const Entry& entry = found->second;
  const std::byte* data = file_->bytes().data() + data_start_ + entry.begin;
  return {Storage::borrow(data, entry.end - entry.begin, file_), Layout::contiguous(entry.shape), entry.dtype};
}

}  // namespace wick
