#pragma once

#include <cstdint>
#include <string>

#include "models/config_reader.h"
#include "nn/activation.h"

namespace wick {

// The sizes of Qwen3-ASR's audio encoder.
struct AudioEncoderConfig {
  int64_t bins = 0;           // of the mel spectrogram
  int64_t chunk_frames = 0;   // the convolutions see that many at a time
  int64_t window_chunks = 0;  // attention sees that many at a time
  int64_t channels = 0;       // of the convolutions
  int64_t layers = 0, width = 0, heads = 0, intermediate = 0;
  int64_t output = 0;  // the decoder's width
  Activation activation = Activation::kGelu;

  std::string prefix;                   // of the tensors' names: "model.audio_tower."
  std::string project_in, project_out;  // full names without ".weight"

  // The rows that three convolutions of stride 2 make of `size` places within one chunk.
  static int64_t thirdly_halved(int64_t size);
  int64_t chunk_tokens() const { return thirdly_halved(chunk_frames); }
  int64_t window_frames() const { return window_chunks * chunk_frames; }
  // How many audio tokens that many frames make.
  int64_t tokens_of(int64_t frames) const;
};

// From the audio_config of a config.json. Throws Error(kBadFile) naming the field that is missing, out of range or
// contradicts another.
AudioEncoderConfig read_audio_encoder_config(const ConfigReader& config);

}  // namespace wick
