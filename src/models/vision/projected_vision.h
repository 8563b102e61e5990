#pragma once

#include <memory>

#include "models/vision/vision_encoder.h"
#include "models/vision/vit_tower.h"

namespace wick {

// How the rows of a tower become rows of a decoder.
struct ProjectorConfig {
  std::string family;
  int64_t layers = 0;        // of the tower that are run
  bool takes_norm = true;    // the tower's last norm
  bool drops_class = false;  // its class is left out
  int64_t join = 1;          // blocks of so many rows and columns become one row ...
  int64_t pooled = 0;        // ... or their mean: how many rows remain in each direction; 0: they are joined
  std::string norm;          // over what is joined; empty: none
  NormKind norm_kind = NormKind::kLayer;
  float norm_offset = 0, eps = 1e-5f;
  std::string in, out;  // linears, the activation between them; `in` alone: one linear
  std::string flat;     // instead: the full name of a weight stored as [in, out]
  int64_t inner = 0, hidden = 0;
  bool bias = true;
  Activation activation = Activation::kGelu;
  bool is_whole = false;  // see InputEmbeddings::is_whole
};

// A vision transformer and a projector: LLaVA, SmolVLM, InternVL, Gemma 3, LFM2-VL.
class ProjectedVision final : public VisionEncoder {
 public:
  ProjectedVision(VitConfig tower, ProjectorConfig projector, const PictureTokens& tokens, WeightLoader& loader);

  const VitTower& tower() const { return tower_; }
  int64_t rows_of(const VisionInput& input) const override;
  InputEmbeddings encode(const VisionInput& input) const override;

 private:
  Tensor project(const Tensor& rows, GridSize grid) const;

  VitTower tower_;
  ProjectorConfig projector_;
  Norm norm_;
  Linear in_, out_;
};

}  // namespace wick
