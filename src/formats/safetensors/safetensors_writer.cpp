#include "formats/safetensors/safetensors_writer.h"

#include <algorithm>

#include "base/checked.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "formats/safetensors/safetensors.h"

namespace wick {
namespace {

using Item = TensorPlan::Item;

constexpr int64_t kHeaderAlignment = 8;

const SafetensorsType& type_of(const TensorSpec& spec, const std::filesystem::path& path) {
  if (const SafetensorsType* type = safetensors_type(spec.dtype)) return *type;
  throw Error(ErrorCode::kInvalidArgument,
              cat(path, ": tensor ", in_quotes(spec.name), " of ", spec.dtype, ": safetensors has no such type"));
}

void append_metadata(std::string& out, const Metadata& metadata, const std::filesystem::path& path) {
  out += R"("__metadata__":{)";
  for (const auto& [key, value] : metadata.items()) {
    const auto* text = std::get_if<std::string>(&value.value);
    if (!text || !is_utf8(*text) || !is_utf8(key)) {
      throw Error(ErrorCode::kInvalidArgument, cat(path, ": the metadata ", in_quotes(key), " is not valid text"));
    }
    if (out.back() != '{') out += ',';
    append_json_text(out, key);
    out += ':';
    append_json_text(out, *text);
  }
  out += '}';
}

void append_tensor(std::string& out, const Item& item, const std::filesystem::path& path) {
  append_json_text(out, item.spec.name);
  out += cat(R"(:{"dtype":")", type_of(item.spec, path).name, R"(","shape":[)");
  for (int d = 0; d < item.spec.shape.rank(); ++d) out += cat(d ? "," : "", item.spec.shape[d]);
  out += cat(R"(],"data_offsets":[)", item.offset, ",", item.offset + item.bytes, "]}");
}

// Gives every item its offset within the data; returns the items in that order and the end.
std::pair<std::vector<Item*>, int64_t> lay_out(TensorPlan& plan, const std::filesystem::path& path) {
  std::vector<Item*> order;
  for (Item& item : plan.items()) order.push_back(&item);
  std::stable_sort(order.begin(), order.end(), [](const Item* a, const Item* b) {
    return block_bytes(a->spec.dtype) > block_bytes(b->spec.dtype);
  });
  int64_t end = 0;
  for (Item* item : order) {
    item->offset = end;
    const auto next = checked_add(end, item->bytes);
    if (!next) throw Error(ErrorCode::kInvalidArgument, cat(path, ": the tensors have more bytes than a file can"));
    end = *next;
  }
  return {order, end};
}

std::string header_of(const std::vector<Item*>& order, const Metadata& metadata, const std::filesystem::path& path) {
  std::string header = "{";
  if (!metadata.empty()) append_metadata(header, metadata, path);
  for (const Item* item : order) {
    if (header.size() > 1) header += ',';
    append_tensor(header, *item, path);
  }
  header += '}';
  header.resize(round_up(static_cast<int64_t>(header.size()), kHeaderAlignment), ' ');
  if (static_cast<int64_t>(header.size()) > kMaxSafetensorsHeader) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(path, ": the header takes ", header.size(), " bytes, the format allows ", kMaxSafetensorsHeader));
  }
  return header;
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<TensorSpec> tensors,
                                     const Metadata& metadata)
    : plan_(std::move(tensors), path), file_(path) {
  const auto [order, data_bytes] = lay_out(plan_, path);
  const std::string header = header_of(order, metadata, path);
  const uint64_t length = header.size();
  const auto data_start = static_cast<int64_t>(sizeof(length) + length);
  for (Item* item : order) item->offset += data_start;
  file_.reserve(data_start + data_bytes);
  file_.write_at(0, std::as_bytes(std::span(&length, 1)));
  file_.write_at(sizeof(length), std::as_bytes(std::span(header)));
}

void SafetensorsWriter::finish() {
  plan_.check_complete(file_);
  file_.finish();
}

std::string safetensors_bytes(std::span<const NamedTensor> tensors, const Metadata& metadata) {
  constexpr const char* kPlace = "safetensors";
  std::vector<TensorSpec> specs;
  for (const NamedTensor& tensor : tensors)
    specs.push_back({tensor.name, tensor.values.dtype(), tensor.values.shape()});
  TensorPlan plan(std::move(specs), kPlace);
  const auto [order, data_bytes] = lay_out(plan, kPlace);
  const std::string header = header_of(order, metadata, kPlace);
  const uint64_t length = header.size();
  std::string bytes;
  bytes.reserve(sizeof(length) + header.size() + static_cast<size_t>(data_bytes));
  bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
  bytes += header;
  for (const Item* item : order) {
    const Tensor& values = tensors[static_cast<size_t>(item - plan.items().data())].values;
    if (!values.is_contiguous() || !values.device().is_host()) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("tensor ", in_quotes(item->spec.name), " is not contiguous on the host"));
    }
    bytes.append(reinterpret_cast<const char*>(values.raw()), static_cast<size_t>(item->bytes));
  }
  return bytes;
}

}  // namespace wick
