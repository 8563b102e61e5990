#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/config_reader.h"
#include "models/weight_loader.h"
#include "nn/encoder_layer.h"

namespace wick {

// The half of a contrastive model that reads text: CLIP's and SigLIP's.
struct TextTowerConfig {
  std::string stem;  // of names: "text_model."
  int64_t width = 0, layers = 0, heads = 0, intermediate = 0, vocabulary = 0, positions = 0;
  float eps = 1e-5f;
  Activation activation = Activation::kGelu;
  bool causal = false;
  // The token whose row stands for the text, the first of them; below 0: the last one.
  int64_t end_token = -1;
};

TextTowerConfig read_text_tower_config(const ConfigReader& config, std::string_view family);

// Immutable and thread-safe.
class TextTower {
 public:
  // With a listing loader, only the names are written down and the tower cannot be run.
  TextTower(TextTowerConfig config, WeightLoader& loader);

  const TextTowerConfig& config() const { return config_; }
  // What stands for each text, f32 [texts, width], behind the last norm. A row depends on its text alone, bit for bit.
  // Throws Error(kInvalidArgument) for empty texts, texts of more tokens than there are positions, tokens outside the
  // vocabulary, and texts without the token that ends them where the model needs it.
  Tensor encode(std::span<const std::vector<int32_t>> texts) const;

 private:
  int64_t end_of(const std::vector<int32_t>& text) const;

  TextTowerConfig config_;
  Device device_;
  Tensor tokens_, positions_;
  std::vector<EncoderLayer> layers_;
  Norm final_norm_;
};

}  // namespace wick
