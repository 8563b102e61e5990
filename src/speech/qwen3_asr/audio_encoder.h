#pragma once

#include <span>
#include <vector>

#include "models/weight_loader.h"
#include "speech/audio_layer.h"
#include "speech/qwen3_asr/audio_encoder_config.h"

namespace wick {

// Qwen3-ASR's audio encoder: a log-mel spectrogram to rows that the decoder reads in place of token embeddings. Chunks
// of 100 frames go through three convolutions each by itself, windows of some chunks through attention layers each by
// itself, all rows through the projector. Immutable: any number of threads may use it at once.
class AudioEncoder {
 public:
  // With a listing loader, only the names are written down and the encoder cannot be run.
  AudioEncoder(const AudioEncoderConfig& config, WeightLoader& loader, const ModelOptions& options);

  const AudioEncoderConfig& config() const { return config_; }

  // mel f32 [bins, frames], real frames only, to f32 [config().tokens_of(frames), output] on the encoder's device.
  // Throws Error(kInvalidArgument) when there are no frames, or another number of bins than the model was made for.
  Tensor encode(const Tensor& mel) const;
  // Several clips in the same passes, each with the result it gets alone, bit for bit. A clip that is cut at multiples
  // of config().window_frames() gives the same rows piece by piece: windows that are full need not be encoded again.
  std::vector<Tensor> encode(std::span<const Tensor> mels) const;

 private:
  struct Window;  // some frames of a clip
  Tensor listen(std::span<const Window> windows) const;
  Tensor stem(std::span<const Window> chunks) const;
  std::vector<Window> cut(std::span<const Window> parts, int64_t frames) const;

  AudioEncoderConfig config_;
  Device device_;
  Tensor conv_weight_[3], conv_bias_[3];
  Linear conv_out_;
  Tensor positions_;  // f32 [chunk_tokens, width]
  std::vector<EncoderLayer> layers_;
  Norm final_norm_;
  Linear project_in_, project_out_;
};

}  // namespace wick
