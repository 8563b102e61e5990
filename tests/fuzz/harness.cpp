#include "fuzz/harness.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "formats/checkpoint.h"
#include "formats/safetensors/safetensors_index.h"
#include "quant/format.h"

namespace wick {
namespace {

void require(bool promise) {
  if (!promise) std::abort();
}

// An exact copy on the heap, so that AddressSanitizer sees a read past either end.
std::shared_ptr<const MappedFile> exact_copy(std::span<const std::byte> bytes) {
  const std::shared_ptr<std::byte[]> copy(new std::byte[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return MappedFile::in_memory("fuzz", {copy.get(), bytes.size()}, copy);
}

unsigned touch(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte byte : bytes) sum += static_cast<unsigned>(byte);
  return sum;
}

template <typename Read>
void allow_error(const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    require(*error.what() != '\0');
  }
}

void read_tensor(const Checkpoint& checkpoint, const TensorEntry& entry, size_t file_bytes) {
  require(entry.offset >= 0 && entry.bytes >= 0);
  require(static_cast<size_t>(entry.offset) <= file_bytes);
  require(static_cast<size_t>(entry.bytes) <= file_bytes - static_cast<size_t>(entry.offset));
  require(checkpoint.find(entry.name) == &entry);
  allow_error([&] {
    const Tensor tensor = checkpoint.get(entry.name);
    require(tensor.shape() == entry.shape && tensor.dtype() == entry.dtype);
    const int64_t bytes = bytes_of(tensor.dtype(), tensor.numel());
    volatile unsigned sum = touch({tensor.raw(), static_cast<size_t>(bytes)});
    (void)sum;
  });
}

void read_key(const Metadata& metadata, const std::string& key, const MetaValue& value) {
  allow_error([&] { metadata.text(key); });
  allow_error([&] { metadata.integer(key); });
  allow_error([&] { metadata.number(key); });
  allow_error([&] { metadata.boolean(key); });
  if (const auto* array = std::get_if<MetaArray>(&value.value)) {
    allow_error([&] {
      for (const std::string_view text : array->texts(key)) {
        volatile unsigned sum = touch(std::as_bytes(std::span(text)));
        (void)sum;
      }
    });
    allow_error([&] { array->integers(key); });
    allow_error([&] { array->numbers(key); });
  }
}

}  // namespace

bool fuzz_checkpoint(std::span<const std::byte> bytes) {
  try {
    const Checkpoint checkpoint = Checkpoint::parse(exact_copy(bytes));
    for (const TensorEntry& entry : checkpoint.entries()) read_tensor(checkpoint, entry, bytes.size());
    // A file may name thousands of keys, and looking one up walks them all.
    int read = 0;
    for (const auto& [key, value] : checkpoint.metadata().items()) {
      if (++read <= 100) read_key(checkpoint.metadata(), key, value);
    }
    allow_error([&] { checkpoint.get("no such tensor"); });
    return true;
  } catch (const Error& error) {
    require(*error.what() != '\0');
    return false;
  }
}

void fuzz_tensor_data(std::span<const std::byte> bytes) {
  constexpr int64_t kMostWeights = 4096;
  if (bytes.empty()) return;
  const int packed = static_cast<int>(bytes[0]) % (kDTypeCount - kElementDTypeCount);
  const auto dtype = static_cast<DType>(kElementDTypeCount + packed);
  const QuantFormat& format = quant_format(dtype);
  bytes = bytes.subspan(1);

  // Blocks need no alignment: they start at the odd byte of an exact copy.
  const int64_t blocks =
      std::min(static_cast<int64_t>(bytes.size()) / block_bytes(dtype), kMostWeights / block_weights(dtype));
  std::vector<std::byte> data(1 + blocks * block_bytes(dtype));
  std::copy_n(bytes.begin(), data.size() - 1, data.begin() + 1);
  std::vector<float> weights(blocks * block_weights(dtype));
  format.decode(data.data() + 1, weights.data(), static_cast<int64_t>(weights.size()));

  if (!format.encode) return;
  const int64_t available = static_cast<int64_t>(bytes.size() / sizeof(float));
  const int64_t count = std::min(available, kMostWeights) / block_weights(dtype) * block_weights(dtype);
  weights.assign(count, 0);
  if (count) std::memcpy(weights.data(), bytes.data(), count * sizeof(float));
  std::vector<float> importance(count);
  for (int64_t i = 0; i < count; ++i) importance[i] = static_cast<float>(bytes[i] & std::byte{15});
  for (const float* given : {static_cast<const float*>(nullptr), static_cast<const float*>(importance.data())}) {
    std::vector<std::byte> encoded(bytes_of(dtype, count));
    format.encode(weights.data(), encoded.data(), count, given);
    std::vector<float> again(count);
    format.decode(encoded.data(), again.data(), count);
  }
}

bool fuzz_index(std::span<const std::byte> bytes) {
  try {
    const auto file = exact_copy(bytes);
    const SafetensorsIndex index = read_safetensors_index(*file);
    for (const auto& [name, shard] : index.items) require(shard < index.shards.size());
    std::vector<FileContents> contents(index.shards.size());
    for (const auto& [name, shard] : index.items) {
      TensorEntry entry;
      entry.name = name;
      contents[shard].entries.push_back(entry);
    }
    check_index(index, file->path(), contents);
    contents[0].entries.pop_back();
    allow_error([&] { check_index(index, file->path(), contents); });
    return true;
  } catch (const Error& error) {
    require(*error.what() != '\0');
    return false;
  }
}

}  // namespace wick
