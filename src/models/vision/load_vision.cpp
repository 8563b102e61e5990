#include "models/vision/load_vision.h"

#include "base/error.h"
#include "base/text.h"
#include "models/read_count.h"
#include "models/vision/projected_vision.h"
#include "models/vision/qwen_vision.h"

namespace wick {
namespace {

// What all families are read from.
struct Source {
  const WeightSource& weights;
  const Json& json;
  ConfigReader config, vision;
  std::string family;
  int64_t hidden, vocabulary;

  int32_t token(std::string_view name, std::string_view other = {}) const {
    const Json* found = json.find(name);
    if (!found && !other.empty()) found = json.find(other);
    if (!found) throw bad_setting(cat("there is no '", name, "'"));
    const int64_t token = found->as_int();
    if (token < 0 || token >= vocabulary) {
      throw bad_setting(cat(name, " = ", token, ", which is outside the vocabulary of ", vocabulary));
    }
    return static_cast<int32_t>(token);
  }
  std::optional<int32_t> token_if_there(std::string_view name) const {
    const Json* found = json.find(name);
    if (!found || found->is_null()) return std::nullopt;
    return token(name);
  }
  // A linear or norm of the projector, under its full name.
  std::string projector(std::string_view name) const {
    const std::string weight = cat("multi_modal_projector.", name);
    return stem_of(weights, weight + (name.find("weight") == std::string_view::npos ? ".weight" : "")) + weight;
  }
};

VisionPlan plan_qwen(const Source& source) {
  QwenVisionConfig config = read_qwen_vision_config(source.vision, source.family, source.hidden);
  config.prefix = stem_of(source.weights, "patch_embed.proj.weight");
  PictureTokens tokens{source.token("image_token_id"),
                       {},
                       source.token_if_there("vision_start_token_id"),
                       source.token_if_there("vision_end_token_id")};
  if (!config.windowed) tokens.video = source.token_if_there("video_token_id");
  return {source.family, config.prefix + "blocks.", [=](WeightLoader& loader) -> std::unique_ptr<VisionEncoder> {
            return std::make_unique<QwenVision>(config, tokens, loader);
          }};
}

VisionPlan plan_projected(const Source& source, const VitConfig& tower, ProjectorConfig projector) {
  projector.family = source.family;
  projector.hidden = source.hidden;
  if (projector.layers == 0) projector.layers = tower.layers;
  const GridSize grid = tower.grid;
  if (!tower.flat_patches && (grid.rows % projector.join != 0 || grid.columns % projector.join != 0)) {
    throw bad_setting(cat(grid.columns, " x ", grid.rows, " patches do not divide into blocks of ", projector.join));
  }
  const PictureTokens tokens{source.token("image_token_id", "image_token_index"),
                             {},
                             source.token_if_there("boi_token_index"),
                             source.token_if_there("eoi_token_index")};
  return {source.family, tower.names.layers, [=](WeightLoader& loader) -> std::unique_ptr<VisionEncoder> {
            return std::make_unique<ProjectedVision>(tower, projector, tokens, loader);
          }};
}

// The tower's rows behind one of its layers (-1: the last), of which `default` leaves the class out and `full` does
// not.
void read_feature_layer(const Source& source, const VitConfig& tower, int64_t usual, ProjectorConfig& projector) {
  const Json* given = source.json.find("vision_feature_layer");
  if (given && given->is_array()) {
    throw Error(ErrorCode::kUnsupported,
                "config.json: vision_feature_layer lists several layers, which is not supported");
  }
  const int64_t layer = given ? given->as_int() : usual;
  projector.layers = layer < 0 ? tower.layers + 1 + layer : layer;
  if (projector.layers < 0 || projector.layers > tower.layers) {
    throw bad_setting(cat("vision_feature_layer = ", layer, " of ", tower.layers));
  }
  const std::string strategy = source.config.text("vision_feature_select_strategy", "default");
  if (strategy != "default" && strategy != "full")
    throw bad_setting(cat("vision_feature_select_strategy is '", strategy, "'"));
  projector.drops_class = strategy == "default";
}

void read_two_linears(const Source& source, ProjectorConfig& projector) {
  projector.in = source.projector("linear_1");
  projector.out = source.projector("linear_2");
  projector.activation = activation_named(source.config.text("projector_hidden_act", "gelu"));
  projector.inner = source.hidden;
}

VisionPlan plan_llava(const Source& source) {
  const VitConfig tower = read_vit_config(source.vision, source.weights);
  ProjectorConfig projector;
  read_feature_layer(source, tower, -2, projector);
  projector.takes_norm = false;  // hidden states are taken before it
  read_two_linears(source, projector);
  projector.bias = source.config.flag("multimodal_projector_bias", true);
  return plan_projected(source, tower, projector);
}

VisionPlan plan_idefics3(const Source& source) {
  const VitConfig tower = read_vit_config(source.vision, source.weights);
  ProjectorConfig projector;
  projector.join = source.config.has("scale_factor") ? read_count(source.config, "scale_factor", 64) : 2;
  projector.in = stem_of(source.weights, "modality_projection.proj.weight") + "modality_projection.proj";
  projector.bias = false;
  return plan_projected(source, tower, projector);
}

VisionPlan plan_internvl(const Source& source) {
  const VitConfig tower = read_vit_config(source.vision, source.weights);
  ProjectorConfig projector;
  read_feature_layer(source, tower, -1, projector);
  if (projector.layers != tower.layers) {
    throw Error(ErrorCode::kUnsupported, "config.json: vision_feature_layer of an 'internvl' is only supported as -1");
  }
  const double ratio = source.config.number("downsample_ratio", 0.5);
  projector.join = static_cast<int64_t>(1 / ratio + 0.5);
  if (!(ratio > 0 && ratio <= 1) || static_cast<double>(projector.join) * ratio != 1) {
    throw bad_setting(cat("downsample_ratio = ", ratio));
  }
  projector.norm = source.projector("layer_norm");
  read_two_linears(source, projector);
  return plan_projected(source, tower, projector);
}

VisionPlan plan_gemma3(const Source& source) {
  const VitConfig tower = read_vit_config(source.vision, source.weights);
  ProjectorConfig projector;
  const int64_t rows = read_count(source.config, "mm_tokens_per_image");
  while ((projector.pooled + 1) * (projector.pooled + 1) <= rows) ++projector.pooled;
  if (projector.pooled * projector.pooled != rows || tower.grid.rows != tower.grid.columns ||
      tower.grid.rows % projector.pooled != 0) {
    throw bad_setting(cat("mm_tokens_per_image = ", rows, " of ", tower.grid.count(), " patches"));
  }
  projector.join = tower.grid.rows / projector.pooled;
  projector.norm = source.projector("mm_soft_emb_norm");
  projector.norm_kind = NormKind::kRms;
  projector.norm_offset = 1;
  projector.eps = tower.eps;
  projector.flat = source.projector("mm_input_projection_weight");
  projector.is_whole = true;
  return plan_projected(source, tower, projector);
}

VisionPlan plan_lfm2(const Source& source) {
  const VitConfig tower = read_vit_config(source.vision, source.weights);
  ProjectorConfig projector;
  projector.join = read_count(source.config, "downsample_factor", 64);
  if (source.config.flag("projector_use_layernorm", true)) projector.norm = source.projector("layer_norm");
  read_two_linears(source, projector);
  projector.inner = read_count(source.config, "projector_hidden_size");
  projector.bias = source.config.flag("projector_bias", true);
  return plan_projected(source, tower, projector);
}

struct Seeing {
  std::string_view model_type, title;
  VisionPlan (*plan)(const Source& source);
  std::string_view tower;  // a name that only such checkpoints hold
};
constexpr Seeing kSeeing[] = {
    {"gemma3", "Gemma 3", plan_gemma3, "multi_modal_projector.mm_input_projection_weight"},
    {"idefics3", "Idefics3", plan_idefics3, "modality_projection.proj.weight"},
    {"internvl", "InternVL 2.5 to 3.5, in the form of Transformers", plan_internvl,
     "multi_modal_projector.linear_1.weight"},
    {"lfm2_vl", "LFM2-VL", plan_lfm2, "multi_modal_projector.linear_1.weight"},
    {"llava", "LLaVA 1.5", plan_llava, "multi_modal_projector.linear_1.weight"},
    {"qwen2_5_vl", "Qwen2.5-VL", plan_qwen, "patch_embed.proj.weight"},
    {"qwen3_5", "Qwen 3.5", plan_qwen, "patch_embed.proj.weight"},
    {"qwen3_5_moe", "Qwen 3.5 with experts", plan_qwen, "patch_embed.proj.weight"},
    {"qwen3_vl", "Qwen3-VL", plan_qwen, "patch_embed.proj.weight"},
    {"qwen3_vl_moe", "Qwen3-VL with experts", plan_qwen, "patch_embed.proj.weight"},
    {"smolvlm", "SmolVLM", plan_idefics3, "modality_projection.proj.weight"},
};

bool holds(const WeightSource& source, std::string_view name) {
  for (const std::string& full : source.names()) {
    if (full == name || full.ends_with(cat(".", name))) return true;
  }
  return false;
}

}  // namespace

std::vector<SeeingFamily> seeing_families() {
  std::vector<SeeingFamily> families;
  for (const Seeing& seeing : kSeeing) families.push_back({seeing.model_type, seeing.title});
  return families;
}

std::optional<VisionPlan> plan_vision(const WeightSource& source, int64_t hidden, int64_t vocabulary) {
  const Json& json = source.config();
  const Json* vision = json.is_object() ? json.find("vision_config") : nullptr;
  if (!vision || !vision->is_object()) return std::nullopt;
  const std::string family = json.get("model_type", "");
  for (const Seeing& seeing : kSeeing) {
    if (seeing.model_type != family || !holds(source, seeing.tower)) continue;
    return seeing.plan({source, json, ConfigReader(json), ConfigReader(*vision), family, hidden, vocabulary});
  }
  return std::nullopt;
}

}  // namespace wick
