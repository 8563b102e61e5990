#include "interp/spill_file.h"

#include "base/error.h"
#include "base/json_write.h"
#include "base/text.h"
#include "formats/safetensors/safetensors.h"

namespace wick {
namespace {

// Of a tensor's line besides its name: dtype, eight sizes and two offsets of at most 20 digits each, and quotes.
constexpr size_t kLineBytes = 300;

int64_t header_room(const std::filesystem::path& path, size_t tensors, size_t longest_name) {
  const auto bytes = static_cast<int64_t>((tensors * (kLineBytes + 2 * longest_name) + 64 + 7) / 8 * 8);
  if (bytes > kMaxSafetensorsHeader) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(path, ": ", tensors, " tensors are too many for one file; capture fewer points or texts"));
  }
  return bytes;
}

}  // namespace

SpillFile::SpillFile(const std::filesystem::path& path, size_t most_tensors, size_t longest_name)
    : file_(path), header_bytes_(header_room(path, most_tensors, longest_name)) {}

void SpillFile::append(const std::string& name, const Tensor& f32) {
  const Tensor rows = f32.contiguous();
  const auto bytes = static_cast<int64_t>(rows.numel() * sizeof(float));
  file_.write_at(8 + header_bytes_ + written_,
                 {reinterpret_cast<const std::byte*>(rows.data<float>()), static_cast<size_t>(bytes)});
  items_.push_back({name, rows.shape(), written_, written_ + bytes});
  written_ += bytes;
}

Checkpoint SpillFile::finish() {
  std::string header = "{";
  for (const Item& item : items_) {
    header += header.size() > 1 ? "," : "";
    append_json_text(header, item.name);
    header += ":{\"dtype\":\"F32\",\"shape\":[";
    for (int i = 0; i < item.shape.rank(); ++i) header += cat(i == 0 ? "" : ",", item.shape[i]);
    header += cat("],\"data_offsets\":[", item.begin, ",", item.end, "]}");
  }
  header += "}";
  if (static_cast<int64_t>(header.size()) > header_bytes_) {
    throw Error(ErrorCode::kInternal, cat(file_.path(), ": its header of ", header.size(), " bytes has no room"));
  }
  header.resize(static_cast<size_t>(header_bytes_), ' ');
  std::string start;
  for (int i = 0; i < 8; ++i) start += static_cast<char>(static_cast<uint64_t>(header_bytes_) >> (8 * i) & 0xff);
  start += header;
  file_.write_at(0, std::as_bytes(std::span(start)));
  file_.finish();
  return Checkpoint::open(file_.path());
}

}  // namespace wick
