#pragma once

#include <string>
#include <vector>

#include "models/config_reader.h"
#include "models/vision/patches.h"
#include "models/vision/vision_encoder.h"
#include "models/weight_loader.h"
#include "nn/encoder_layer.h"

namespace wick {

// The vision part of Qwen2.5-VL, Qwen3-VL and Qwen3.5.
struct QwenVisionConfig {
  std::string family, prefix;  // of names: "model.visual."
  bool windowed = false;       // Qwen2.5-VL: RMS norms, gated MLPs, attention in windows, no table of positions
  int64_t channels = 3, patch = 0, frames = 0, join = 0;
  int64_t layers = 0, width = 0, heads = 0, intermediate = 0, output = 0;
  int64_t grid = 0;                  // of the table of positions, square
  int64_t window = 0;                // in joined patches, square
  std::vector<int64_t> full_layers;  // without windows
  std::vector<int64_t> deep;         // layers whose rows also go to the decoder's first layers
  Activation activation = Activation::kGeluTanh;
  double theta = 10000;

  int64_t patch_values() const { return channels * frames * patch * patch; }
  int64_t joined_width() const { return width * join * join; }
};

// From the vision_config of a config.json. Throws Error(kBadFile) naming the setting at fault.
QwenVisionConfig read_qwen_vision_config(const ConfigReader& config, std::string_view family, int64_t hidden);

class QwenVision final : public VisionEncoder {
 public:
  QwenVision(const QwenVisionConfig& config, const PictureTokens& tokens, WeightLoader& loader);

  int64_t rows_of(const VisionInput& input) const override;
  InputEmbeddings encode(const VisionInput& input) const override;

  // Behind all layers, in the order of the patches, and what is joined of them.
  struct Layers {
    Tensor last;  // [patches, width]
    Tensor rows;  // [joined, output]
    std::vector<Tensor> deep;
  };
  Layers run(const VisionInput& input) const;

 private:
  struct Merger {
    Norm norm;
    Linear in, out;
    bool norms_joined = false;  // else each patch by itself
    Tensor operator()(const Tensor& rows, int64_t joined_width) const;
  };
  EncoderLayer load_layer(int64_t index, WeightLoader& loader) const;
  Merger load_merger(const std::string& name, bool norms_joined, WeightLoader& loader) const;
  // cos and sin of all patches in the order of blocks.
  RopeRows angles(const VisionInput& input) const;
  Tensor positions(const VisionInput& input) const;

  QwenVisionConfig config_;
  Device device_;
  Linear patches_;
  Tensor positions_;  // f32 [grid * grid, width]; undefined: none
  std::vector<EncoderLayer> layers_;
  Merger merger_;
  std::vector<Merger> deep_mergers_;
};

}  // namespace wick
