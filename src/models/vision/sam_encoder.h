#pragma once

#include <vector>

#include "models/config_reader.h"
#include "models/weight_loader.h"
#include "nn/mlp.h"

namespace wick {

// Of the vision_config of a SAM.
struct SamEncoderConfig {
  int64_t side = 0, patch = 0, width = 0, layers = 0, heads = 0, intermediate = 0, output = 0;
  int64_t window = 0;                 // rows and columns that attention sees in most layers
  std::vector<int64_t> whole_layers;  // those in which it sees all
  float eps = 1e-6f;
  Activation activation = Activation::kGelu;

  int64_t grid() const { return side / patch; }
};

SamEncoderConfig read_sam_encoder_config(const ConfigReader& config);

// A norm over the channels of x [batch, channels, h, w].
Tensor norm_channels(const Norm& norm, const Tensor& x);

// A vision transformer whose attention knows how far rows and columns are from each other, with windows on most layers,
// and convolutions behind it.
class SamEncoder {
 public:
  SamEncoder(const SamEncoderConfig& config, WeightLoader& loader);

  const SamEncoderConfig& config() const { return config_; }
  Tensor encode(const Tensor& pixels) const;  // see Sam

 private:
  struct Layer {
    Norm attn_norm, mlp_norm;
    Linear qkv, out;
    Tensor by_row, by_column;  // f32 [2 * size - 1, head_dim]: distances in each direction
    Mlp mlp;
    int64_t window = 0;  // 0: all
  };
  Layer load_layer(int64_t index, WeightLoader& loader) const;
  Tensor attend(const Layer& layer, const Tensor& x) const;

  SamEncoderConfig config_;
  Device device_;
  Linear patches_;
  Tensor positions_;
  std::vector<Layer> layers_;
  Tensor first_conv_, second_conv_;
  Norm first_norm_, second_norm_;
};

}  // namespace wick
