#include "models/decoder/decode_graphs.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "models/input_embeddings.h"
#include "ops/layers/draw_tokens.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr size_t kMostEntries = 64;
constexpr int64_t kLeastWidth = 16;  // blocks

bool one_token_each(const ForwardBatch& batch) {
  return batch.sequences.size() <= DecodeGraphs::kMostSequences && batch.logit_rows.size() == batch.tokens.size() &&
         std::all_of(batch.sequences.begin(), batch.sequences.end(), [](const SequenceRows& rows) {
           const bool reads_none =
               rows.embeddings.empty() ||
               rows.embeddings.back().position + rows.embeddings.back().rows.dim(0) <= rows.position;
           return rows.tokens == 1 && reads_none && !rows.hooks && (!rows.state || rows.state->empty());
         });
}

// Tensors one behind the other in one piece of memory, which travels to the device in one copy.
class Packed {
 public:
  template <typename T>
  std::span<T> add(const Shape& shape) {
    const size_t offset = bytes_.size();
    bytes_.resize(offset + (static_cast<size_t>(shape.numel()) * sizeof(T) + 63) / 64 * 64);
    parts_.push_back({shape, dtype_of<T>(), offset});
    return {reinterpret_cast<T*>(bytes_.data() + offset), static_cast<size_t>(shape.numel())};
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  // Part i as a view of `memory`.
  Tensor view(size_t i, const Tensor& memory) const {
    Layout layout = Layout::contiguous(parts_[i].shape);
    layout.offset = static_cast<int64_t>(parts_[i].offset) / size_of(parts_[i].dtype);
    return {memory.storage(), layout, parts_[i].dtype};
  }
  void reserve(size_t bytes) { bytes_.reserve(bytes); }  // spans stay valid up to that size

 private:
  struct Part {
    Shape shape;
    DType dtype;
    size_t offset;
  };
  std::vector<std::byte> bytes_;
  std::vector<Part> parts_;
};

Packed pack(const ForwardBatch& batch, int64_t width, const std::vector<RopeTable>& tables) {
  const auto count = static_cast<int64_t>(batch.tokens.size());
  Packed packed;
  size_t angles = 0;
  for (const RopeTable& table : tables) angles += static_cast<size_t>(2 * table.pairs() * count) * sizeof(float) + 128;
  packed.reserve(static_cast<size_t>(count * (width + 8)) * 8 + angles + 1024);
  const auto ids = packed.add<int64_t>({count}), position_ids = packed.add<int64_t>({count});
  const auto starts = packed.add<int32_t>({count + 1}), positions = packed.add<int32_t>({count});
  const auto table = packed.add<int32_t>({count, width});
  for (size_t i = 0; i < batch.tokens.size(); ++i) {
    const SequenceRows& rows = batch.sequences[i];
    ids[i] = batch.tokens[i];
    position_ids[i] = rows.position;
    starts[i] = static_cast<int32_t>(i);
    positions[i] = static_cast<int32_t>(rows.position);
    const size_t blocks = std::min(static_cast<size_t>(width), rows.blocks.size());
    std::copy_n(rows.blocks.begin(), blocks, table.begin() + static_cast<int64_t>(i) * width);
  }
  starts[batch.tokens.size()] = static_cast<int32_t>(count);
  const std::vector<RopePosition> places = rope_positions(batch);
  for (const RopeTable& rope : tables) {
    const RopeRows rows = places.empty() ? rope.rows(position_ids) : rope.rows(places);
    const auto cos = packed.add<float>({count, rope.pairs()}), sin = packed.add<float>({count, rope.pairs()});
    std::memcpy(cos.data(), rows.cos.raw(), cos.size_bytes());
    std::memcpy(sin.data(), rows.sin.raw(), sin.size_bytes());
  }
  return packed;
}

DecodeInputs inputs_of(const Packed& packed, size_t tables, const Tensor& memory) {
  DecodeInputs inputs;
  inputs.ids = packed.view(0, memory);
  inputs.position_ids = packed.view(1, memory);
  inputs.rows = {packed.view(2, memory), packed.view(3, memory), packed.view(4, memory)};
  for (size_t i = 0; i < tables; ++i) {
    inputs.ropes.push_back({packed.view(5 + 2 * i, memory), packed.view(6 + 2 * i, memory)});
  }
  return inputs;
}

}  // namespace

std::optional<Tensor> DecodeGraphs::run(const ForwardBatch& batch, const KvCache& cache,
                                        const std::vector<RopeTable>& tables, Device device,
                                        FunctionRef<Tensor(const DecodeInputs&)> forward) {
  if (!has_graphs(device) || !one_token_each(batch) || cache.layers() == 0) return std::nullopt;
  int64_t width = kLeastWidth;
  for (const SequenceRows& rows : batch.sequences) width = std::max(width, rows.position / kKvBlockTokens + 1);
  width = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(width)));
  const Key key{static_cast<int64_t>(batch.tokens.size()), width, cache.blocks(), cache.layer(0).key.raw()};

  const std::lock_guard lock(mutex_);
  if (refused_) return std::nullopt;
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) {
    if (entries_.size() == kMostEntries) {
      for (const Entry& entry : entries_) {
        if (entry.graph) entry.logits.to_device(Device::cpu());  // the device is done with all of them then
      }
      entries_.clear();
    }
    entries_.push_back({key, nullptr, {}, {}, {}});
    return std::nullopt;
  }
  const Packed packed = pack(batch, width, tables);
  Entry& entry = *found;
  if (!entry.graph) {
    entry.memory = empty({static_cast<int64_t>(packed.bytes().size())}, DType::kU8, device);
    const DecodeInputs inputs = inputs_of(packed, tables.size(), entry.memory);
    entry.ids = inputs.ids;
    try {
      entry.graph = capture_graph(device, [&] { entry.logits = forward(inputs); });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported) throw;
      refused_ = true;
      return std::nullopt;
    }
  }
  device_memory(device).copy_from_host(device, entry.memory.raw(), packed.bytes().data(), packed.bytes().size());
  if (batch.drawn.defined()) place_tokens(batch.drawn, entry.ids);
  entry.graph->start();
  return entry.logits.clone();
}

}  // namespace wick
