#pragma once

#include <vector>

#include "base/inline_vector.h"
#include "models/decoder/decode_graphs.h"
#include "models/decoder/decoder_config.h"
#include "models/forward_batch.h"
#include "models/input_embeddings.h"
#include "nn/attention.h"
#include "nn/recurrent/mixer.h"

namespace wick {

// What all layers of one forward pass share.
struct DecoderStep {
  DecoderStep(const ForwardBatch& batch, const KvCache& cache, const std::vector<RopeTable>& ropes, Device device);
  // Inputs that are on the device already; no hooks and no states.
  DecoderStep(const DecodeInputs& inputs, const KvCache& cache, const std::vector<RopeTable>& ropes);

  const KvCache& cache;
  const std::vector<RopeTable>& tables;
  Tensor position_ids;                 // i64 [rows], on the host or, from DecodeInputs, on the device
  std::span<const int64_t> positions;  // the same; empty when they are on the device
  AttentionStep attention;
  InlineVector<RopeRows, kMostRopes> ropes;   // one per table
  Tensor layer_inputs;                        // [rows, layers * size]: what LayerEmbeddings gives
  std::vector<std::optional<DeepRows>> deep;  // what is added behind the first layers
  std::vector<SequenceState> states;          // of all sequences, where they have any
  BatchHooks hooks;

  // For a mixer of this layer whose tensors begin at `first` of a sequence's.
  MixerStep mixer_step(size_t first, int layer) const { return {states, positions, hooks, layer, first}; }
};

// Indices as an i64 tensor on the device.
Tensor index_tensor(std::span<const int64_t> indices, Device device);

}  // namespace wick
