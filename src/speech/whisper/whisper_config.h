#pragma once

#include <cstdint>
#include <string>

#include "models/config_reader.h"
#include "models/encoder_decoder/cross_decoder.h"
#include "nn/activation.h"

namespace wick {

struct WhisperConfig {
  int64_t bins = 0;              // of the mel spectrogram
  int64_t source_positions = 0;  // rows that the encoder makes of twice as many frames
  int64_t target_positions = 0;  // tokens that the decoder can write
  int64_t width = 0, vocabulary = 0;
  int64_t encoder_layers = 0, encoder_heads = 0, encoder_intermediate = 0;
  int64_t decoder_layers = 0, decoder_heads = 0, decoder_intermediate = 0;
  Activation activation = Activation::kGelu;
  float embedding_scale = 1;
  std::string prefix = "model.";  // of the tensors' names

  int64_t frames() const { return 2 * source_positions; }
};

// From config.json. Throws Error(kBadFile) naming the field that is missing, out of range or contradicts another.
WhisperConfig read_whisper_config(const ConfigReader& config);
// Its decoder's part.
CrossDecoderConfig decoder_of(const WhisperConfig& config);

}  // namespace wick
