#pragma once

#include <array>
#include <utility>
#include <vector>

#include "models/config_reader.h"
#include "models/weight_loader.h"
#include "nn/mlp.h"

namespace wick {

// What is asked of a picture, in pixels of the square that was encoded.
struct SamPrompt {
  struct Point {
    float x = 0, y = 0;
    bool is_inside = true;  // of what is meant
  };
  std::vector<Point> points;
  std::vector<std::array<float, 4>> boxes;  // left, top, right, bottom
};

// Of the mask_decoder_config and prompt_encoder_config of a SAM.
struct SamDecoderConfig {
  int64_t side = 0, grid = 0;  // of pixels, of what is encoded
  int64_t width = 0, layers = 0, heads = 0, intermediate = 0, masks = 0, features = 0;
  int64_t narrowing = 2;  // of attention between tokens and picture
  int64_t iou_width = 0, iou_depth = 0;
  float eps = 1e-6f;
  Activation activation = Activation::kRelu;
};

SamDecoderConfig read_sam_decoder_config(const Json& config, int64_t features);

// Makes masks of a prompt and what a picture was encoded to.
class SamDecoder {
 public:
  SamDecoder(const SamDecoderConfig& config, WeightLoader& loader);

  // Scores [masks, 4 * grid, 4 * grid] and ious [masks], on the host: see Sam.
  std::pair<Tensor, Tensor> segment(const Tensor& encoded, const SamPrompt& prompt) const;

 private:
  struct CrossAttention {
    Linear q, k, v, out;
  };
  struct Layer {
    CrossAttention own, to_picture, to_tokens;
    Norm norms[4];
    Mlp mlp;
  };
  struct Head {  // linears with an activation between each two
    std::vector<Linear> linears;
    Tensor operator()(Tensor x) const;
  };
  CrossAttention load_attention(const std::string& prefix, int64_t inner, WeightLoader& loader) const;
  Head load_head(const std::string& prefix, int64_t inner, int64_t outputs, int64_t depth, WeightLoader& loader) const;
  Tensor attend(const CrossAttention& attention, const Tensor& query, const Tensor& key, const Tensor& value) const;
  // f32 [points, width] of places from 0 to 1.
  Tensor places(const std::vector<float>& coordinates) const;
  Tensor embed(const SamPrompt& prompt) const;

  SamDecoderConfig config_;
  Device device_;
  Tensor frequencies_;  // f32 [2, width / 2]
  Tensor point_kinds_[4], no_point_, no_mask_;
  Tensor output_tokens_;  // f32 [1 + masks + 1, width]
  std::vector<Layer> layers_;
  CrossAttention final_attention_;
  Norm final_norm_;
  Tensor first_weight_, first_bias_, second_weight_, second_bias_;  // of what makes the picture larger
  Norm upscale_norm_;
  std::vector<Head> mask_heads_;
  Head iou_head_;
};

}  // namespace wick
