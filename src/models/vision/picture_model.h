#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/load_model.h"
#include "models/vision/text_tower.h"
#include "models/vision/vit_tower.h"

namespace wick {

// A family of them, by its model_type.
struct PictureFamily {
  std::string_view model_type, title;
};
std::vector<PictureFamily> picture_families();

// Whether a config.json is that of a model that makes vectors or labels of pictures.
bool is_picture_model(const Json& config);

// A model of pictures that writes no text: CLIP and SigLIP (vectors that texts share), ViT (labels), DINOv2 (vectors).
// Immutable and thread-safe.
class PictureModel {
 public:
  // Names and settings are checked first; throws Error(kBadFile) naming the tensor or the setting at fault,
  // Error(kUnsupported) for what is no such model.
  static std::unique_ptr<PictureModel> load(const WeightSource& source, const ModelOptions& options = {});
  // What would be loaded, found out from names and settings alone.
  static ModelPlan plan(const WeightSource& source, const ModelOptions& options = {});

  const std::string& family() const { return family_; }
  const VitTower& tower() const { return tower_; }
  const TextTower* texts() const { return texts_ ? &*texts_ : nullptr; }  // null: it reads none
  const std::vector<std::string>& labels() const { return labels_; }      // of ViT; empty: it has none
  int64_t width() const;                                                  // of a picture's vector
  int64_t parameters() const { return parameters_; }
  int64_t weight_bytes() const { return weight_bytes_; }

  // One vector each, on the host: f32 [pictures, width]; of CLIP and SigLIP as long as 1. Pixels are f32 [pictures,
  // channels, height, width]; a picture's vector depends on it alone, bit for bit. Throw Error(kInvalidArgument) for
  // pixels and texts that the model does not take, Error(kUnsupported) for what it has not.
  Tensor embed(const Tensor& pixels) const;
  Tensor embed_texts(std::span<const std::vector<int32_t>> texts) const;
  // How well each text fits each picture, f32 [pictures, texts], of vectors that embed() and embed_texts() gave: CLIP's
  // go through a softmax over texts, SigLIP's through a sigmoid.
  Tensor match(const Tensor& pictures, const Tensor& texts) const;
  Tensor probabilities(const Tensor& match) const;
  // Scores of the labels before their softmax, f32 [pictures, labels].
  Tensor classify(const Tensor& pixels) const;
  // All rows behind the last norm, f32 [pictures * rows, tower width]: class, registers, patches.
  Tensor rows(const Tensor& pixels, const SequenceHooks* hooks = nullptr) const;

 private:
  struct Settings;
  // SigLIP's: a learned query looks at all patches.
  struct PoolingHead {
    Tensor probe;  // f32 [1, width]
    Linear q, k, v, out;
    Norm norm;
    Mlp mlp;
  };
  static Settings read(const WeightSource& source);
  PictureModel(const Settings& settings, WeightLoader& loader);
  Tensor pool(const Tensor& rows, const GridSize& grid, int64_t pictures) const;
  Tensor pool_patches(const Tensor& rows, int64_t pictures) const;

  std::string family_;
  VitTower tower_;
  std::optional<TextTower> texts_;
  std::optional<PoolingHead> head_;
  Linear picture_projection_, text_projection_, classifier_;
  double scale_ = 1, bias_ = 0;  // of a match
  std::vector<std::string> labels_;
  int64_t parameters_ = 0, weight_bytes_ = 0;
};

}  // namespace wick
