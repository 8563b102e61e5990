#include "formats/safetensors/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

#include "base/checked.h"
#include "base/json_reader.h"
#include "base/utf8.h"

namespace wick {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors data is little endian");

// Reads the fields of one tensor. Offsets are within the data; the caller moves them.
class TensorReader {
 public:
  TensorReader(JsonReader& json, const std::filesystem::path& path, const std::string& name)
      : json_(json), path_(path) {
    entry_.name = name;
  }

  TensorEntry read() {
    json_.set_place("tensor", entry_.name, "");
    json_.begin_object();
    for (std::string field; json_.next_name(field);) {
      json_.set_place("tensor", entry_.name, field);
      if (field == "dtype") {
        once(has_type_);
        read_type();
      } else if (field == "shape") {
        once(has_shape_);
        read_shape();
      } else if (field == "data_offsets") {
        once(has_offsets_);
        read_offsets();
      } else {
        json_.skip();
      }
    }
    if (!has_type_) throw bad("'dtype' is missing");
    if (!has_shape_) throw bad("'shape' is missing");
    if (!has_offsets_) throw bad("'data_offsets' is missing");
    check_size();
    return std::move(entry_);
  }

 private:
  Error bad(const std::string& what) const {
    return bad_file(path_, cat("tensor ", in_quotes(entry_.name), ": ", what));
  }

  void once(bool& seen) {
    if (seen) throw json_.bad_place("is given twice");
    seen = true;
  }

  void read_type() {
    entry_.type = json_.text();
    type_ = safetensors_type(entry_.type);
    if (!type_) throw bad(cat("dtype ", in_quotes(entry_.type), " is not one of the format"));
    entry_.dtype = type_->dtype;
  }

  void read_shape() {
    std::vector<int64_t> dims;
    json_.begin_list();
    while (json_.next_item()) {
      dims.push_back(json_.integer());
      if (dims.size() > kMaxRank) throw bad(cat("'shape' has more than ", kMaxRank, " dimensions"));
    }
    try {
      entry_.shape = Shape(std::span<const int64_t>(dims));
    } catch (const Error& error) {
      throw bad(error.what());
    }
  }

  void read_offsets() {
    int64_t offsets[2] = {};
    int count = 0;
    json_.begin_list();
    while (json_.next_item()) {
      if (count == 2) throw json_.bad_place("has more than two numbers");
      offsets[count++] = json_.integer();
    }
    if (count != 2 || offsets[0] < 0 || offsets[1] < offsets[0]) throw json_.bad_place("is not [begin, end]");
    entry_.offset = offsets[0];
    entry_.bytes = offsets[1] - offsets[0];
  }

  void check_size() const {
    const auto bits = checked_mul(entry_.shape.numel(), type_->bits);
    if (!bits || *bits % 8 != 0 || *bits / 8 != entry_.bytes) {
      throw bad(cat(entry_.type, " ", entry_.shape, " does not take the ", entry_.bytes, " bytes of its data_offsets"));
    }
  }

  JsonReader& json_;
  const std::filesystem::path& path_;
  TensorEntry entry_;
  const SafetensorsType* type_ = nullptr;
  bool has_type_ = false;
  bool has_shape_ = false;
  bool has_offsets_ = false;
};

void read_metadata(JsonReader& json, const std::filesystem::path& path, Metadata& metadata) {
  std::unordered_set<std::string> keys;
  json.set_place("", "", "__metadata__");
  json.begin_object();
  for (std::string key; json.next_name(key);) {
    if (!keys.insert(key).second) {
      throw bad_file(path, cat("'__metadata__': the name ", in_quotes(key), " is given twice"));
    }
    json.set_place("", "__metadata__", key);
    if (keys.size() > kMaxMetadataKeys) {
      throw bad_file(path, cat("'__metadata__' has more than ", kMaxMetadataKeys, " names"));
    }
    metadata.append(key, {MetaType::kText, json.text()});
  }
}

std::string_view header_text(const MappedFile& file) {
  const auto bytes = file.bytes();
  uint64_t length = 0;
  if (bytes.size() < sizeof(length)) {
    throw bad_file(file.path(), cat("has ", bytes.size(), " bytes, too short for a safetensors file"));
  }
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > bytes.size() - sizeof(length)) {
    throw bad_file(file.path(), cat("the header claims ", length, " bytes but the file has ", bytes.size()));
  }
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    throw bad_file(file.path(), cat("the header claims ", length, " bytes, the format allows ", kMaxSafetensorsHeader));
  }
  return {reinterpret_cast<const char*>(bytes.data()) + sizeof(length), static_cast<size_t>(length)};
}

// Tensors must cover the data section exactly: no gap, no overlap, nothing past the end.
void check_data_section(const std::vector<TensorEntry>& sorted, int64_t data_bytes, const std::filesystem::path& path) {
  int64_t expected = 0;
  for (const TensorEntry& entry : sorted) {
    if (entry.offset != expected) {
      throw bad_file(path, cat("tensor ", in_quotes(entry.name), " begins at byte ", entry.offset,
                               " of the data, expected ", expected, entry.offset < expected ? " (overlap)" : " (gap)"));
    }
    expected += entry.bytes;  // at most the end offset, which was read as an int64_t
  }
  if (expected != data_bytes) {
    throw bad_file(path, cat("the tensors end at byte ", expected, " of the data but it has ", data_bytes));
  }
}

}  // namespace

FileContents read_safetensors(const MappedFile& file, int file_index) {
  const std::filesystem::path& path = file.path();
  const std::string_view text = header_text(file);
  const auto data_start = static_cast<int64_t>(sizeof(uint64_t) + text.size());
  FileContents contents;
  contents.metadata = Metadata(path.string());
  std::vector<TensorEntry>& entries = contents.entries;

  JsonReader json(text, path.string());
  json.set_place("the header", "", "");
  json.begin_object();
  bool has_metadata = false;
  for (std::string name; json.next_name(name);) {
    if (name == "__metadata__") {
      if (has_metadata) throw bad_file(path, "the name '__metadata__' is given twice");
      has_metadata = true;
      read_metadata(json, path, contents.metadata);
    } else {
      entries.push_back(TensorReader(json, path, name).read());
      entries.back().file = file_index;
    }
  }
  json.finish();

  sort_by_offset(entries);
  check_data_section(entries, static_cast<int64_t>(file.bytes().size()) - data_start, path);
  for (TensorEntry& entry : entries) entry.offset += data_start;
  return contents;
}

}  // namespace wick
