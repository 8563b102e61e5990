#pragma once

#include <span>
#include <vector>

#include "models/weight_loader.h"
#include "speech/audio_layer.h"
#include "speech/whisper/whisper_config.h"

namespace wick {

// Whisper's encoder: a log-mel spectrogram of a fixed length (30 s in the released models) to rows that the decoder
// looks at. Immutable: any number of threads may use it at once.
class WhisperEncoder {
 public:
  // With a listing loader, only the names are written down and the encoder cannot be run.
  WhisperEncoder(const WhisperConfig& config, WeightLoader& loader, Device device);

  // mel f32 [bins, 2 * source_positions] to f32 [source_positions, width] on the encoder's device. Throws
  // Error(kInvalidArgument) for other shapes.
  Tensor encode(const Tensor& mel) const;

 private:
  WhisperConfig config_;
  Device device_;
  Tensor conv_weight_[2], conv_bias_[2];
  Tensor positions_;  // f32 [source_positions, width]
  std::vector<EncoderLayer> layers_;
  Norm final_norm_;
};

}  // namespace wick
