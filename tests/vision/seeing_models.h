#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "models/vision/vision_encoder.h"
#include "ops/view.h"
#include "support/model_fixtures.h"

namespace wick {

// A language model that sees, with what PyTorch computes for a prompt with a picture.
struct SeeingModel {
  const char* folder;
  const char* prefix = "";    // of the names in reference.safetensors
  const char* features = "";  // what the tower gives, and whether it is compared
  double tolerance = 5e-6;

  friend std::ostream& operator<<(std::ostream& out, const SeeingModel& model) { return out << model.folder; }
};

inline constexpr SeeingModel kSeeingModels[] = {
    {"qwen3_vl", "image_"},
    {"qwen3_vl_moe", "image_"},
    {"qwen2_5_vl"},
    {"qwen3_5-vision", "", "", 3e-5},
    {"gemma3-vision"},
    {"llava"},
    {"smolvlm"},
    {"internvl"},
    {"lfm2_vl"},
};

// The prompt of a reference, with what stands in it.
struct SeeingReference {
  explicit SeeingReference(const SeeingModel& of)
      : values(Checkpoint::open(family_folder(of.folder) / "reference.safetensors")), prefix(of.prefix) {}

  Tensor get(const std::string& name) const { return values.get(name); }
  bool has(const std::string& name) const { return values.find(name) != nullptr; }
  std::vector<int32_t> tokens() const { return get(prefix + "input_ids").to_vector<int32_t>(); }
  Tensor logits() const {
    const Tensor all = get(prefix + "logits");
    return all.with_layout(all.layout().squeeze(0));
  }

  VisionInput picture() const {
    VisionInput input;
    const Tensor x = get(prefix + "pixel_values");
    if (has(prefix + "image_grid_thw") || has("image_grid_thw")) {
      const std::vector<int64_t> grid = get("image_grid_thw").to_vector<int64_t>();
      input = {x, grid[0], grid[1], grid[2]};
    } else if (has("spatial_shapes")) {
      const std::vector<int64_t> grid = get("spatial_shapes").to_vector<int64_t>();
      input = {reshape(x, {-1, x.dim(-1)}), 1, grid[0], grid[1]};
    } else {
      input.values = x.rank() == 5 ? reshape(x, {-1, x.dim(2), x.dim(3), x.dim(4)}) : x;
    }
    return input;
  }

  Checkpoint values;
  std::string prefix;
};

// Where the first of a run of `token` stands.
inline int64_t place_of(const std::vector<int32_t>& tokens, int32_t token, int64_t from = 0) {
  return std::find(tokens.begin() + from, tokens.end(), token) - tokens.begin();
}

}  // namespace wick
