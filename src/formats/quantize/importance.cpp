#include "formats/quantize/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "formats/byte_reader.h"
#include "formats/checkpoint.h"
#include "formats/gguf/gguf.h"

namespace wick {
namespace {

constexpr std::string_view kSums = ".in_sum2";
constexpr std::string_view kCounts = ".counts";

std::vector<float> floats_of(const Checkpoint& file, const TensorEntry& entry, const std::filesystem::path& path) {
  if (entry.dtype != DType::kF32) {
    throw bad_file(path, cat("tensor ", in_quotes(entry.name), " is ", entry.type, ", expected F32"));
  }
  const Tensor tensor = file.get(entry);
  const float* data = tensor.data<float>();
  return {data, data + tensor.numel()};
}

// Sums become means, one count per expert. What was never seen matters evenly.
void divide_by_counts(std::vector<float>& sums, const std::vector<float>& counts) {
  const size_t columns = sums.size() / counts.size();
  for (size_t i = 0; i < sums.size(); ++i) {
    const float count = counts[i / columns];
    sums[i] = count > 0 ? sums[i] / count : 1.0F;
  }
}

}  // namespace

Importance Importance::load(const std::filesystem::path& path) {
  Importance importance;
  importance.path_ = path;
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  const bool is_gguf =
      bytes.size() >= kGgufMagic.size() && std::memcmp(bytes.data(), kGgufMagic.data(), kGgufMagic.size()) == 0;
  is_gguf ? importance.read_gguf() : importance.read_dat();
  if (importance.names_.empty()) throw bad_file(path, "is no importance matrix, or an empty one");
  return importance;
}

void Importance::add(std::string name, std::vector<float> values) {
  const auto usable = [](float value) { return std::isfinite(value) && value >= 0; };
  if (!std::all_of(values.begin(), values.end(), usable)) {
    throw bad_file(path_, cat("the importances of ", in_quotes(name), " are not all finite and positive"));
  }
  if (!values_.emplace(name, std::move(values)).second) throw bad_file(path_, cat("lists ", in_quotes(name), " twice"));
  names_.push_back(std::move(name));
}

void Importance::read_gguf() {
  const Checkpoint file = Checkpoint::open(path_);
  for (const TensorEntry& entry : file.entries()) {
    if (!entry.name.ends_with(kSums)) continue;
    std::string name = entry.name.substr(0, entry.name.size() - kSums.size());
    const TensorEntry* counts_entry = file.find(cat(name, kCounts));
    if (!counts_entry) throw bad_file(path_, cat("has no ", in_quotes(cat(name, kCounts))));
    std::vector<float> sums = floats_of(file, entry, path_);
    const std::vector<float> counts = floats_of(file, *counts_entry, path_);
    if (counts.empty() || sums.size() % counts.size() != 0) {
      throw bad_file(path_, cat(in_quotes(name), " has ", counts.size(), " counts for ", sums.size(), " sums"));
    }
    divide_by_counts(sums, counts);
    add(std::move(name), std::move(sums));
  }
}

// Layout: i32 entries | entries; an entry is i32 length | name | i32 calls | i32 count | f32 sums
void Importance::read_dat() {
  const auto file = MappedFile::open(path_);
  ByteReader reader(file->bytes(), path_);
  const auto entries = reader.read<int32_t>();
  if (entries < 1 || entries > 1'000'000) throw bad_file(path_, "is no importance matrix");
  for (int32_t i = 0; i < entries; ++i) {
    reader.set_place("entry", i);
    const auto length = reader.read<int32_t>();
    if (length < 1) throw reader.bad(cat("has a name of ", length, " bytes"));
    size_t start = reader.position();
    reader.skip(static_cast<uint64_t>(length));
    std::string name(reinterpret_cast<const char*>(reader.since(start).data()), static_cast<size_t>(length));
    reader.set_place("entry", name);
    const auto calls = reader.read<int32_t>();
    const auto count = reader.read<int32_t>();
    if (count < 1) throw reader.bad(cat("has ", count, " values"));
    start = reader.position();
    reader.skip(static_cast<uint64_t>(count) * sizeof(float));
    std::vector<float> values(static_cast<size_t>(count));
    std::memcpy(values.data(), reader.since(start).data(), values.size() * sizeof(float));
    for (float& value : values) value /= static_cast<float>(std::max(calls, 1));
    add(std::move(name), std::move(values));
  }
}

std::vector<float> Importance::of(std::string_view tensor, const Shape& shape) const {
  const auto found = values_.find(std::string(tensor));
  if (found == values_.end()) return {};
  const auto count = static_cast<int64_t>(found->second.size());
  const int64_t columns = shape.rank() ? shape.back() : 1;
  const bool per_expert = shape.rank() == 3 && count == shape[0] * columns;
  if (count == columns || per_expert) return found->second;
  throw bad_file(path_, cat("has ", count, " values for ", in_quotes(tensor), ", which is ", shape,
                            ": it was measured on another model"));
}

}  // namespace wick
