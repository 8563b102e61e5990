#pragma once

#include <span>
#include <vector>

#include "models/language_model.h"
#include "models/speech/whisper_config.h"
#include "models/weight_loader.h"
#include "nn/attention.h"
#include "nn/mlp.h"

namespace wick {

struct DecoderStep;

// Whisper's decoder: attention to what was written, attention to what was heard, and an MLP per layer. What was heard
// comes with a sequence's state, whose tensors are keys and values of each layer, in blocks as KvBlocks has them;
// passes read it and do not change it. Sequences of a batch that follow each other with one state look at it together.
class WhisperDecoder final : public LanguageModel {
 public:
  // With a listing loader, only the names are written down and the model cannot be run.
  WhisperDecoder(const WhisperConfig& config, WeightLoader& loader, const ModelOptions& options);

  Device device() const override { return device_; }
  // The state of sequences that write down what was heard: f32 [source_positions, width] from WhisperEncoder; `dtype`:
  // f32, or f16 and bf16, which take half of the time and memory. Throws Error(kInvalidArgument) for other shapes and
  // dtypes.
  RecurrentState state_for(const Tensor& heard, DType dtype = DType::kF32) const;

  struct Head {
    int64_t layer = 0, head = 0;
  };
  // Where the tokens of one text look in what was heard: the weights of the first `positions` of it under a softmax of
  // their own, f32 [heads, tokens, positions] on the host. Throws Error(kInvalidArgument) for what is not there.
  Tensor look_at_heard(std::span<const int32_t> tokens, const RecurrentState& state, std::span<const Head> heads,
                       int64_t positions) const;

 protected:
  Tensor run(const ForwardBatch& batch, const KvCache& cache) const override;

 private:
  struct CrossAttention {
    Linear q, k, v, out;
  };
  struct Layer {
    Norm attn_norm, cross_norm, mlp_norm;
    Attention attention;
    CrossAttention cross;
    Mlp mlp;
  };
  Layer load_layer(int64_t index, WeightLoader& loader) const;
  void check_states(const ForwardBatch& batch) const;
  // The layers, from tokens to f32 [rows, width]; `queries`: those of what was heard go there, one tensor per layer;
  // may be null.
  Tensor run_layers(const ForwardBatch& batch, const DecoderStep& step, std::vector<Tensor>* queries) const;
  // query [rows, width] of all sequences, each looking at its own state.
  Tensor attend_to_heard(const Tensor& query, const ForwardBatch& batch, size_t layer) const;
  Tensor attend_to_state(const Tensor& query, const RecurrentState& state, size_t layer) const;
  Shape key_shape() const;
  Shape value_shape() const;

  WhisperConfig config_;
  Device device_;
  Tensor embedding_, positions_;
  std::vector<Layer> layers_;
  Norm final_norm_;
  // One sequence of source_positions in its blocks: as it is stored, and as the row behind the last position sees it.
  PagedRows stored_, seen_;
};

}  // namespace wick
