#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/config_reader.h"
#include "speech/conformer_layer.h"

namespace wick {

// The log-mel features of NeMo's models: 16 kHz, windows of 400 samples in 512 points every 160, pre-emphasis, each bin
// normed over the clip. f32 [frames, bins]; the last frame is zeros and counts. Throws Error(kInvalidArgument) for
// fewer samples than make two frames to norm over.
Tensor nemo_log_mel(std::span<const float> samples, int64_t bins);

struct FastConformerConfig {
  int64_t bins = 0, channels = 0, layers = 0;  // of the spectrogram, of the subsampling convolutions
  ConformerConfig layer;
  std::string prefix;  // "conformer."
};
// NeMo's settings, as in LFM2-Audio. Throws Error(kBadFile) or Error(kUnsupported) naming the one at fault.
FastConformerConfig read_fast_conformer_config(const ConfigReader& config, const std::string& prefix);

// An encoder of speech: convolutions that leave an eighth of the frames, then conformer layers. Immutable.
class FastConformer {
 public:
  FastConformer(const FastConformerConfig& config, WeightLoader& loader);

  // f32 [frames, bins] to [frames / 8 rounded up, width].
  Tensor operator()(const Tensor& mel) const;
  static int64_t rows_of(int64_t frames) { return (frames + 7) / 8; }
  int64_t width() const { return config_.layer.width; }

 private:
  struct Stage {
    Tensor depth, depth_bias;  // [channels, 1, 3, 3]; the first stage looks at the whole spectrogram
    Tensor mix, mix_bias;      // [channels, channels, 1, 1]; undefined in the first
  };
  Tensor subsample(const Tensor& mel) const;

  FastConformerConfig config_;
  Device device_;
  std::vector<Stage> stages_;
  Linear in_;
  std::vector<ConformerLayer> layers_;
};

}  // namespace wick
