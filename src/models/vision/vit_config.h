#pragma once

#include <string>

#include "formats/weights.h"
#include "models/config_reader.h"
#include "models/vision/patches.h"
#include "nn/activation.h"
#include "nn/norm.h"

namespace wick {

// Where a tower's weights lie: names without ".weight", those of layers behind `layers`, a number and a dot. Those that
// say so are full names. Empty: there is none.
struct VitNames {
  std::string class_token, registers, positions;  // full
  std::string patches, pre_norm, post_norm, layers;
  std::string attn_norm, q, k, v, qkv, out, mlp_norm, up, down;
  std::string gate_up;                // gate and up as one
  std::string attn_scale, mlp_scale;  // full
};

// A vision transformer over patches of a picture.
struct VitConfig {
  std::string family;
  int64_t channels = 3, patch = 0, width = 0, layers = 0, heads = 0, intermediate = 0;
  GridSize grid;  // of the table of positions
  bool has_class = false;
  int64_t registers = 0;  // rows between the class and the patches, without positions
  GridResize resize = GridResize::kNone;
  bool patch_bias = true, qkv_bias = true;
  bool flat_patches = false;  // their weight is stored as that of a linear
  NormKind norm = NormKind::kLayer;
  float eps = 1e-6f;
  Activation activation = Activation::kGelu;
  VitNames names;

  int64_t extra_rows() const { return (has_class ? 1 : 0) + registers; }
  int64_t patch_values() const { return channels * patch * patch; }
};

// From the settings of a tower: config.json, or its vision_config; `model_type` says which. Names begin where the
// weights of `source` say. Throws Error(kBadFile) naming the setting at fault, Error(kUnsupported) for towers that Wick
// does not know.
VitConfig read_vit_config(const ConfigReader& config, const WeightSource& source);
// Whether there is such a tower.
bool is_vit(std::string_view model_type);

// What stands before `name` in the file's names; the shortest. Throws Error(kBadFile) when no name ends with it.
std::string stem_of(const WeightSource& source, std::string_view name);

}  // namespace wick
