#pragma once

#include <cstdint>
#include <string>

#include "models/weight_loader.h"
#include "nn/encoder_layer.h"

namespace wick {

struct AudioLayerConfig {
  int64_t width = 0, heads = 0, intermediate = 0;
  Activation activation = Activation::kGelu;
  bool key_bias = true;
};

// A layer of the encoders that descend from Whisper's. `prefix`: of the names, with the dot:
// "model.audio_tower.layers.0.".
EncoderLayer load_audio_layer(const AudioLayerConfig& config, const std::string& prefix, WeightLoader& loader);

}  // namespace wick
