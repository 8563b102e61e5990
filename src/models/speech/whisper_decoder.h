#pragma once

#include <vector>

#include "models/language_model.h"
#include "models/speech/whisper_config.h"
#include "models/weight_loader.h"
#include "nn/attention.h"
#include "nn/mlp.h"

namespace wick {

// Whisper's decoder: attention to what was written, attention to what was heard, and an MLP per layer. What was heard
// comes with a sequence's state, whose tensors are keys and values [1, heads, source_positions, head_dim] for each
// layer; passes read it and do not change it.
class WhisperDecoder final : public LanguageModel {
 public:
  // With a listing loader, only the names are written down and the model cannot be run.
  WhisperDecoder(const WhisperConfig& config, WeightLoader& loader, const ModelOptions& options);

  Device device() const override { return device_; }
  // The state of sequences that write down what was heard: f32 [source_positions, width] from WhisperEncoder. Throws
  // Error(kInvalidArgument) for other shapes.
  RecurrentState state_for(const Tensor& heard) const;

 protected:
  Tensor run(const ForwardBatch& batch, const KvCache& cache) const override;

 private:
  struct CrossAttention {
    Linear q, k, v, out;
    // x [rows, width] of all sequences, each looking at its own state.
    Tensor operator()(const Tensor& x, const ForwardBatch& batch, size_t layer, int64_t heads) const;
  };
  struct Layer {
    Norm attn_norm, cross_norm, mlp_norm;
    Attention attention;
    CrossAttention cross;
    Mlp mlp;
  };
  Layer load_layer(int64_t index, WeightLoader& loader) const;
  void check_states(const ForwardBatch& batch) const;

  WhisperConfig config_;
  Device device_;
  Tensor embedding_, positions_;
  std::vector<Layer> layers_;
  Norm final_norm_;
};

}  // namespace wick
