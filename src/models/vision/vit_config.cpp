#include "models/vision/vit_config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/load_parts.h"
#include "models/read_count.h"

namespace wick {
namespace {

constexpr int64_t kMostPatch = 256, kMostSide = 1 << 14;

// What Transformers takes for settings that a config.json leaves out.
struct Defaults {
  int64_t width = 768, intermediate = 3072, layers = 12, heads = 12, image = 224, patch = 16;
  double eps = 1e-6;
  std::string_view activation = "gelu";
};

int64_t count_or(const ConfigReader& config, std::string_view name, int64_t usual, int64_t most = int64_t{1} << 16) {
  return config.has(name) ? read_count(config, name, most) : usual;
}

// A number, or a height and a width.
std::pair<int64_t, int64_t> read_sides(const ConfigReader& config, std::string_view name, int64_t usual, int64_t most) {
  const Json* given = config.find(name);
  if (!given || !given->is_array()) {
    const int64_t both = count_or(config, name, usual, most);
    return {both, both};
  }
  const auto sides = given->to<std::vector<int64_t>>();
  if (sides.size() != 2 || sides[0] < 1 || sides[1] < 1 || sides[0] > most || sides[1] > most) {
    throw bad_setting(cat(name, " is other than a height and a width from 1 to ", most));
  }
  return {sides[0], sides[1]};
}

void read_sizes(const ConfigReader& config, const Defaults& usual, VitConfig& vit) {
  vit.channels = count_or(config, "num_channels", 3, 64);
  vit.width = count_or(config, "hidden_size", usual.width);
  vit.layers = count_or(config, "num_hidden_layers", usual.layers, 4096);
  vit.heads = count_or(config, "num_attention_heads", usual.heads);
  vit.intermediate = count_or(config, "intermediate_size", usual.intermediate);
  vit.eps = static_cast<float>(config.number("layer_norm_eps", usual.eps));
  vit.activation = activation_named(config.text("hidden_act", usual.activation));
  const auto [patch_height, patch_width] = read_sides(config, "patch_size", usual.patch, kMostPatch);
  if (patch_height != patch_width) throw bad_setting("patch_size is not square");
  vit.patch = patch_height;
  if (vit.width % vit.heads != 0) {
    throw bad_setting(cat("hidden_size = ", vit.width, " does not divide by num_attention_heads = ", vit.heads));
  }
  if (!(vit.eps >= 0 && vit.eps < 1)) throw bad_setting(cat("layer_norm_eps = ", vit.eps));
}

void read_grid(const ConfigReader& config, const Defaults& usual, VitConfig& vit) {
  const auto [height, width] = read_sides(config, "image_size", usual.image, kMostSide);
  vit.grid = {height / vit.patch, width / vit.patch};
  if (vit.grid.count() < 1) throw bad_setting(cat("patch_size = ", vit.patch, " is larger than image_size"));
}

// CLIP and those after it: SigLIP, SmolVLM.
void name_clip(VitConfig& vit, const WeightSource& source) {
  VitNames& names = vit.names;
  const std::string stem = stem_of(source, "embeddings.patch_embedding.weight");
  names.patches = stem + "embeddings.patch_embedding";
  names.positions = stem + "embeddings.position_embedding.weight";
  names.post_norm = stem + "post_layernorm";
  names.layers = stem + "encoder.layers.";
  names.attn_norm = "layer_norm1";
  names.q = "self_attn.q_proj";
  names.k = "self_attn.k_proj";
  names.v = "self_attn.v_proj";
  names.out = "self_attn.out_proj";
  names.mlp_norm = "layer_norm2";
  names.up = "mlp.fc1";
  names.down = "mlp.fc2";
}

void read_clip(const ConfigReader&, const WeightSource& source, VitConfig& vit) {
  name_clip(vit, source);
  const std::string stem = stem_of(source, "embeddings.patch_embedding.weight");
  vit.has_class = true;
  vit.patch_bias = false;
  vit.names.class_token = stem + "embeddings.class_embedding";
  vit.names.pre_norm = stem + "pre_layrnorm";  // as the files spell it
}

void read_siglip(const ConfigReader&, const WeightSource& source, VitConfig& vit) { name_clip(vit, source); }

// Pictures of any size, as patches.
void read_siglip2(const ConfigReader& config, const WeightSource& source, VitConfig& vit) {
  name_clip(vit, source);
  const int64_t patches = count_or(config, "num_patches", 256, kMostSide);
  const auto side = static_cast<int64_t>(std::sqrt(static_cast<double>(patches)) + 0.5);
  if (side * side != patches) throw bad_setting(cat("num_patches = ", patches, " is not a square"));
  vit.grid = {side, side};
  vit.flat_patches = true;
  vit.resize = GridResize::kBilinearAntialiased;
}

void read_blip(const ConfigReader&, const WeightSource& source, VitConfig& vit) {
  name_clip(vit, source);
  const std::string stem = stem_of(source, "embeddings.patch_embedding.weight");
  vit.has_class = true;
  vit.names.class_token = stem + "embeddings.class_embedding";
  vit.names.positions = stem + "embeddings.position_embedding";
  vit.names.qkv = "self_attn.qkv";
  vit.names.out = "self_attn.projection";
}

// ViT and those after it: DINOv2, InternVL.
void name_vit(VitConfig& vit, const WeightSource& source) {
  VitNames& names = vit.names;
  const std::string stem = stem_of(source, "embeddings.patch_embeddings.projection.weight");
  vit.has_class = true;
  names.class_token = stem + "embeddings.cls_token";
  names.patches = stem + "embeddings.patch_embeddings.projection";
  names.positions = stem + "embeddings.position_embeddings";
  names.post_norm = stem + "layernorm";
  names.layers = stem + "encoder.layer.";
  names.attn_norm = "layernorm_before";
  names.q = "attention.attention.query";
  names.k = "attention.attention.key";
  names.v = "attention.attention.value";
  names.out = "attention.output.dense";
  names.mlp_norm = "layernorm_after";
  names.up = "intermediate.dense";
  names.down = "output.dense";
}

void read_vit(const ConfigReader& config, const WeightSource& source, VitConfig& vit) {
  name_vit(vit, source);
  vit.qkv_bias = config.flag("qkv_bias", true);
}

void read_dinov2(const ConfigReader& config, const WeightSource& source, VitConfig& vit) {
  name_vit(vit, source);
  VitNames& names = vit.names;
  vit.qkv_bias = config.flag("qkv_bias", true);
  vit.resize = GridResize::kBicubic;
  names.attn_norm = "norm1";
  names.mlp_norm = "norm2";
  names.up = "mlp.fc1";
  names.down = "mlp.fc2";
  names.attn_scale = "layer_scale1.lambda1";
  names.mlp_scale = "layer_scale2.lambda1";
  const double ratio = config.number("mlp_ratio", 4);
  if (!(ratio > 0 && ratio <= 64)) throw bad_setting(cat("mlp_ratio = ", ratio));
  vit.intermediate = static_cast<int64_t>(static_cast<double>(vit.width) * ratio);
  if (config.flag("use_swiglu_ffn", false)) {
    vit.intermediate = (vit.intermediate * 2 / 3 + 7) / 8 * 8;
    vit.activation = Activation::kSilu;
    names.gate_up = "mlp.weights_in";
    names.down = "mlp.weights_out";
  }
}

void read_dinov2_registers(const ConfigReader& config, const WeightSource& source, VitConfig& vit) {
  read_dinov2(config, source, vit);
  vit.resize = GridResize::kBicubicAntialiased;
  vit.registers = count_or(config, "num_register_tokens", 4, 1024);
  vit.names.registers = stem_of(source, "embeddings.patch_embeddings.projection.weight") + "embeddings.register_tokens";
}

void read_internvl(const ConfigReader& config, const WeightSource& source, VitConfig& vit) {
  name_vit(vit, source);
  VitNames& names = vit.names;
  if (config.flag("use_qk_norm", false)) {
    throw Error(ErrorCode::kUnsupported, "config.json: use_qk_norm of an 'internvl_vision' is not supported");
  }
  if (!config.flag("use_absolute_position_embeddings", true)) {
    throw Error(ErrorCode::kUnsupported,
                "config.json: an 'internvl_vision' without use_absolute_position_embeddings is not supported");
  }
  const std::string kind = config.text("norm_type", "layer_norm");
  if (kind != "layer_norm" && kind != "rms_norm") throw bad_setting(cat("norm_type is '", kind, "'"));
  if (kind == "rms_norm") vit.norm = NormKind::kRms;
  vit.qkv_bias = config.flag("attention_bias", false);
  if (config.flag("use_mean_pooling", true)) names.post_norm.clear();
  names.q = "attention.q_proj";
  names.k = "attention.k_proj";
  names.v = "attention.v_proj";
  names.out = "attention.projection_layer";
  names.up = "mlp.fc1";
  names.down = "mlp.fc2";
  names.attn_scale = "lambda_1";
  names.mlp_scale = "lambda_2";
}

struct Tower {
  std::string_view model_type;
  void (*read)(const ConfigReader&, const WeightSource&, VitConfig&);
  bool has_image_size;
  Defaults usual;
};
constexpr Defaults kClip{.patch = 32, .eps = 1e-5, .activation = "quick_gelu"};
constexpr Defaults kSiglip{.activation = "gelu_pytorch_tanh"};
constexpr Defaults kIdefics3{.width = 1152, .heads = 16, .patch = 32, .activation = "gelu_pytorch_tanh"};
constexpr Defaults kInternVl{.width = 1024, .intermediate = 4096, .layers = 24, .heads = 16, .image = 448, .patch = 14};
constexpr Tower kTowers[] = {
    {"blip_vision_model", read_blip, true, {.image = 384, .eps = 1e-5}},
    {"clip_vision_model", read_clip, true, kClip},
    {"dinov2", read_dinov2, true, {.patch = 14}},
    {"dinov2_with_registers", read_dinov2_registers, true, {.patch = 14}},
    {"idefics3_vision", read_siglip, true, kIdefics3},
    {"internvl_vision", read_internvl, true, kInternVl},
    {"siglip2_vision_model", read_siglip2, false, kSiglip},
    {"siglip_vision_model", read_siglip, true, kSiglip},
    {"smolvlm_vision", read_siglip, true, kIdefics3},
    {"vit", read_vit, true, {.eps = 1e-12}},
};

const Tower* find_tower(std::string_view model_type) {
  const auto* const found = std::find_if(std::begin(kTowers), std::end(kTowers),
                                         [&](const Tower& tower) { return tower.model_type == model_type; });
  return found == std::end(kTowers) ? nullptr : found;
}

}  // namespace

bool is_vit(std::string_view model_type) { return find_tower(model_type) != nullptr; }

VitConfig read_vit_config(const ConfigReader& config, const WeightSource& source) {
  VitConfig vit;
  vit.family = config.text("model_type", "");
  const Tower* tower = find_tower(vit.family);
  if (!tower) {
    std::string known;
    for (const Tower& each : kTowers) known += cat(known.empty() ? "" : ", ", each.model_type);
    throw Error(ErrorCode::kUnsupported, cat("the vision tower '", vit.family, "' is not known; known are ", known));
  }
  read_sizes(config, tower->usual, vit);
  if (tower->has_image_size) read_grid(config, tower->usual, vit);
  tower->read(config, source, vit);
  if (vit.intermediate < 1) throw bad_setting("its layers have no size");
  return vit;
}

std::string stem_of(const WeightSource& source, std::string_view name) {
  std::optional<std::string> found;
  for (const std::string& full : source.names()) {
    const bool ends = full == name || full.ends_with(cat(".", name));
    if (ends && (!found || full.size() < found->size())) found = full;
  }
  if (!found) throw Error(ErrorCode::kBadFile, cat(file_name(source), " has no tensor '", name, "' of a vision tower"));
  return found->substr(0, found->size() - name.size());
}

}  // namespace wick
