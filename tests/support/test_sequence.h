#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <numeric>
#include <vector>

#include "formats/checkpoint.h"
#include "formats/weights.h"
#include "models/load_model.h"

namespace wick {

// A model with one cache, for tests that run forward passes by hand.
struct TestModel {
  explicit TestModel(const std::filesystem::path& path, const ModelOptions& options = {}, DType kv = DType::kF32,
                     int64_t blocks = 64)
      : TestModel(WeightSource(Checkpoint::open(path)), options, kv, blocks) {}
  explicit TestModel(const WeightSource& of, const ModelOptions& options = {}, DType kv = DType::kF32,
                     int64_t blocks = 64)
      : source(of), model(load_model(source, options)), cache(model->facts().kv_layers, blocks, kv, options.device) {}

  WeightSource source;
  std::unique_ptr<LanguageModel> model;
  KvCache cache;
};

// A sequence that grows chunk by chunk in blocks of its own.
struct TestSequence {
  explicit TestSequence(const TestModel& of, int32_t first_block = 0, int32_t stride = 1)
      : state(of.model->new_state()) {
    for (int32_t block = first_block; block < of.cache.blocks() && blocks.size() < 16; block += stride) {
      blocks.push_back(block);
    }
  }

  // Adds a chunk to the batch; logits of all its rows, or of the last.
  void add_to(ForwardBatch& batch, std::span<const int32_t> chunk, bool all_logits) {
    const auto begin = static_cast<int64_t>(batch.tokens.size()), count = static_cast<int64_t>(chunk.size());
    batch.tokens.insert(batch.tokens.end(), chunk.begin(), chunk.end());
    batch.sequences.push_back({count, position, blocks, &state, hooks});
    for (int64_t i = all_logits ? 0 : count - 1; i < count; ++i) batch.logit_rows.push_back(begin + i);
    position += count;
  }
  Tensor run(const TestModel& on, std::span<const int32_t> chunk, bool all_logits = true) {
    ForwardBatch batch;
    add_to(batch, chunk, all_logits);
    return on.model->forward(batch, on.cache);
  }

  std::vector<int32_t> blocks;
  RecurrentState state;
  const SequenceHooks* hooks = nullptr;
  int64_t position = 0;
};

}  // namespace wick
