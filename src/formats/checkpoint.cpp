#include "formats/checkpoint.h"

#include <cstring>

#include "base/nearest.h"
#include "base/utf8.h"
#include "formats/checkpoint_state.h"

namespace wick {
namespace {

// Integers that have no dtype become the next one that holds them.
template <typename From, typename To>
Tensor widened(const std::byte* data, const Shape& shape, const std::string& name) {
  Ref<Storage> storage = Storage::allocate(shape.numel() * sizeof(To), Device::cpu());
  auto* out = reinterpret_cast<To*>(storage->data());
  for (int64_t i = 0; i < shape.numel(); ++i) {
    From value;
    std::memcpy(&value, data + i * sizeof(From), sizeof(From));
    if (!std::in_range<To>(value)) {
      throw Error(ErrorCode::kUnsupported, cat(name, " holds ", value, ", which ", dtype_of<To>(), " cannot hold"));
    }
    out[i] = static_cast<To>(value);
  }
  return {std::move(storage), Layout::contiguous(shape), dtype_of<To>()};
}

Tensor aligned_copy(const std::byte* data, int64_t bytes, const Shape& shape, DType dtype) {
  Ref<Storage> storage = Storage::allocate(bytes, Device::cpu());
  std::memcpy(storage->data(), data, bytes);
  return {std::move(storage), Layout::contiguous(shape), dtype};
}

}  // namespace

void CheckpointState::add(std::shared_ptr<const MappedFile> file, FileContents contents) {
  if (files.empty()) metadata = std::move(contents.metadata);
  entries.insert(entries.end(), std::make_move_iterator(contents.entries.begin()),
                 std::make_move_iterator(contents.entries.end()));
  files.push_back(std::move(file));
}

void CheckpointState::index_names() {
  places.reserve(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto [known, is_new] = places.try_emplace(entries[i].name, i);
    if (is_new) continue;
    const int other = entries[known->second].file;
    const auto& path = files[entries[i].file]->path();
    if (other == entries[i].file) throw bad_file(path, cat("tensor ", in_quotes(entries[i].name), " is listed twice"));
    throw bad_file(path, cat("tensor ", in_quotes(entries[i].name), " is also in ", files[other]->path()));
  }
}

Checkpoint::Checkpoint() : Checkpoint(std::make_shared<const CheckpointState>()) {}
Checkpoint::Checkpoint(std::shared_ptr<const CheckpointState> state) : state_(std::move(state)) {}

Checkpoint::Kind Checkpoint::kind() const { return state_->kind; }
const std::vector<std::shared_ptr<const MappedFile>>& Checkpoint::files() const { return state_->files; }
const std::filesystem::path& Checkpoint::folder() const { return state_->folder; }
const std::vector<TensorEntry>& Checkpoint::entries() const { return state_->entries; }
const Metadata& Checkpoint::metadata() const { return state_->metadata; }
const Json& Checkpoint::config() const { return state_->config; }

const TensorEntry* Checkpoint::find(std::string_view name) const {
  const auto found = state_->places.find(name);
  return found == state_->places.end() ? nullptr : &state_->entries[found->second];
}

Tensor Checkpoint::get(std::string_view name) const {
  if (const TensorEntry* entry = find(name)) return get(*entry);
  std::vector<std::string_view> names;
  for (const TensorEntry& entry : entries()) names.push_back(entry.name);
  const std::string_view near = nearest(name, names);
  const std::string place = files().empty() ? "the checkpoint" : files()[0]->path().string();
  throw Error(ErrorCode::kInvalidArgument, cat(place, ": there is no tensor ", in_quotes(name),
                                               near.empty() ? "" : cat("; the nearest name is ", in_quotes(near))));
}

Tensor Checkpoint::get(const TensorEntry& entry) const {
  const auto& file = files().at(entry.file);
  const std::byte* data = file->bytes().data() + entry.offset;
  const auto place = [&] { return cat(file->path(), ": tensor ", in_quotes(entry.name)); };
  if (!entry.dtype) {
    throw Error(ErrorCode::kUnsupported, cat(place(), " is ", entry.type, ", which can be listed but not read"));
  }
  if (entry.type == "I16") return widened<int16_t, int32_t>(data, entry.shape, place());
  if (entry.type == "U16") return widened<uint16_t, int32_t>(data, entry.shape, place());
  if (entry.type == "U64") return widened<uint64_t, int64_t>(data, entry.shape, place());
  const auto address = reinterpret_cast<uintptr_t>(data);
  const size_t alignment = is_packed(*entry.dtype) ? alignof(uint16_t) : size_of(*entry.dtype);  // blocks hold scales
  if (address % alignment != 0) {
    return aligned_copy(data, entry.bytes, entry.shape, *entry.dtype);
  }
  return {Storage::borrow(data, entry.bytes, file), Layout::contiguous(entry.shape), *entry.dtype};
}

void Checkpoint::forget(const TensorEntry& entry) const { files().at(entry.file)->forget(entry.offset, entry.bytes); }

}  // namespace wick
