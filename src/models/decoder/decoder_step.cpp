#include "models/decoder/decoder_step.h"

#include <algorithm>

#include "models/input_embeddings.h"
#include "nn/kv_blocks_for.h"
#include "tensor/create.h"

namespace wick {
namespace {

PagedRows paged_rows(const ForwardBatch& batch, Device device) {
  const auto count = static_cast<int64_t>(batch.sequences.size());
  int64_t most_blocks = 1;
  for (const SequenceRows& rows : batch.sequences) {
    most_blocks = std::max(most_blocks, kv_blocks_for(rows.position + rows.tokens));
  }
  const Tensor starts = empty({count + 1}, DType::kI32), positions = empty({count}, DType::kI32);
  const Tensor table = empty({count, most_blocks}, DType::kI32);
  int32_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const SequenceRows& rows = batch.sequences[static_cast<size_t>(i)];
    starts.mutable_data<int32_t>()[i] = begin;
    positions.mutable_data<int32_t>()[i] = static_cast<int32_t>(rows.position);
    begin += static_cast<int32_t>(rows.tokens);
    int32_t* row = table.mutable_data<int32_t>() + i * most_blocks;
    const int64_t blocks = std::min(most_blocks, static_cast<int64_t>(rows.blocks.size()));
    std::copy_n(rows.blocks.begin(), blocks, row);
    std::fill(row + blocks, row + most_blocks, 0);
  }
  starts.mutable_data<int32_t>()[count] = begin;
  return {starts.to_device(device), positions.to_device(device), table.to_device(device)};
}

}  // namespace

DecoderStep::DecoderStep(const ForwardBatch& batch, const KvCache& kv, const std::vector<RopeTable>& rope_tables,
                         Device device)
    : cache(kv), tables(rope_tables) {
  position_ids = empty({static_cast<int64_t>(batch.tokens.size())}, DType::kI64);
  auto* position = position_ids.mutable_data<int64_t>();
  positions = {position, batch.tokens.size()};
  for (const SequenceRows& rows : batch.sequences) {
    for (int64_t i = 0; i < rows.tokens; ++i) *position++ = rows.position + i;
  }
  int64_t begin = 0;
  for (const SequenceRows& rows : batch.sequences) {
    hooks.add(begin, positions.subspan(static_cast<size_t>(begin), static_cast<size_t>(rows.tokens)), rows.hooks);
    if (rows.state && !rows.state->empty()) states.push_back({begin, rows.tokens, rows.state->tensors.data()});
    begin += rows.tokens;
  }
  if (kv.layers() > 0) attention.rows = paged_rows(batch, device);
  attention.hooks = &hooks;
  attention.whole = whole_rows(batch);
  for (size_t layer = 0; layer < deep_layers(batch); ++layer) {
    std::optional<DeepRows> rows = deep_rows(batch, layer);
    if (rows) rows->rows = rows->rows.to_device(device);
    deep.push_back(std::move(rows));
  }
  const std::vector<RopePosition> places = rope_tables.empty() ? std::vector<RopePosition>() : rope_positions(batch);
  for (const RopeTable& table : rope_tables) {
    const RopeRows rows = places.empty() ? table.rows(positions) : table.rows(places);
    ropes.push_back({rows.cos.to_device(device), rows.sin.to_device(device)});
  }
}

DecoderStep::DecoderStep(const DecodeInputs& inputs, const KvCache& kv, const std::vector<RopeTable>& rope_tables)
    : cache(kv), tables(rope_tables), position_ids(inputs.position_ids), ropes(inputs.ropes) {
  attention.rows = inputs.rows;
  attention.hooks = &hooks;
}

Tensor index_tensor(std::span<const int64_t> indices, Device device) {
  return from_span(indices, {static_cast<int64_t>(indices.size())}).to_device(device);
}

}  // namespace wick
