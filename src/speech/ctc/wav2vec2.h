#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "formats/weights.h"
#include "models/load_model.h"
#include "speech/conformer_layer.h"
#include "speech/ctc/wav2vec2_feature_encoder.h"
#include "speech/ctc/wav2vec2_layer.h"

namespace wick {

// Whether a config.json is one of wav2vec2 or of its conformer.
bool is_wav2vec2(const Json& config);

// wav2vec2 with a head for CTC: samples to the likelihood of each letter in every frame. Immutable: any number of
// threads may use it at once.
class Wav2Vec2 {
 public:
  // Names and settings are checked first; throws Error(kBadFile) naming the tensor or the setting at fault,
  // Error(kUnsupported) for other models and for settings that Wick does not have.
  static std::unique_ptr<Wav2Vec2> load(const std::filesystem::path& path, const ModelOptions& options = {});
  static std::unique_ptr<Wav2Vec2> load(const WeightSource& source, const ModelOptions& options = {});
  // What would be loaded, found out from names and settings alone.
  static ModelPlan plan(const WeightSource& source, const ModelOptions& options = {});

  const Wav2Vec2Config& config() const { return config_; }
  int64_t parameters() const { return parameters_; }
  int64_t weight_bytes() const { return weight_bytes_; }

  // Sound at 16 kHz, normalised if the model wants it so, to f32 [config().frames_of(samples), vocabulary] on the
  // model's device. Memory grows with the samples: windows of some seconds are the way for long sound. Throws
  // Error(kInvalidArgument) when the samples are too few for a frame.
  Tensor logits(std::span<const float> samples) const;

 private:
  Wav2Vec2(const Wav2Vec2Config& config, WeightLoader& loader, const ModelOptions& options);

  Wav2Vec2Config config_;
  Device device_;
  Wav2Vec2FeatureEncoder feature_encoder_;
  Norm norm_;  // in front of the layers, or behind them where they have norms first
  std::vector<Wav2Vec2Layer> layers_;
  std::vector<ConformerLayer> conformer_layers_;
  Linear head_;
  int64_t parameters_ = 0, weight_bytes_ = 0;
};

}  // namespace wick
