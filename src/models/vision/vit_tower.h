#pragma once

#include <span>
#include <vector>

#include "hooks/sequence_hooks.h"
#include "models/vision/vit_config.h"
#include "models/weight_loader.h"
#include "nn/encoder_layer.h"

namespace wick {

// A vision transformer: ViT, CLIP, SigLIP, DINOv2 and those built like them. Immutable and thread-safe.
class VitTower {
 public:
  // With a listing loader, only the names are written down and the tower cannot be run.
  VitTower(VitConfig config, WeightLoader& loader);

  const VitConfig& config() const { return config_; }
  int64_t layers() const { return std::ssize(layers_); }

  // Patches f32 [rows, patch_values], on any device, of pictures with these grids, to f32 [rows, width] on the tower's
  // device: of each picture its class and registers, where there are any, then its patches. Behind the first `layers`
  // layers, without the last norm. A picture's rows depend on it alone, bit for bit. Throws Error(kInvalidArgument) for
  // grids that the tower does not take.
  Tensor run(const Tensor& patches, std::span<const GridSize> grids, int64_t layers,
             const SequenceHooks* hooks = nullptr) const;
  // All layers and the last norm, of pixels [pictures, channels, height, width].
  Tensor encode(const Tensor& pixels, const SequenceHooks* hooks = nullptr) const;
  // The grid of each picture of these pixels. Throws Error(kInvalidArgument) for pixels that the tower does not take.
  std::vector<GridSize> grids_of(const Tensor& pixels) const;
  const Norm& post_norm() const { return post_norm_; }

 private:
  EncoderLayer load_layer(int64_t index, WeightLoader& loader) const;
  Tensor embed(const Tensor& patches, std::span<const GridSize> grids) const;

  VitConfig config_;
  Device device_;
  Linear patches_;
  Tensor class_, registers_, positions_;  // f32 [rows, width]; positions_ of patches only, the class has its own in it
  Norm pre_norm_, post_norm_;
  std::vector<EncoderLayer> layers_;
};

}  // namespace wick
