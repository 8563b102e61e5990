#include "models/vision/picture_model.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/load_parts.h"
#include "models/read_count.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/layers/scaled_dot_product_attention.h"
#include "ops/reduction.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

enum class Kind : uint8_t { kClip, kSiglip, kVit, kDino };
struct Family {
  std::string_view model_type, title;
  Kind kind;
};
constexpr Family kFamilies[] = {
    {"clip", "CLIP", Kind::kClip},
    {"dinov2", "DINOv2", Kind::kDino},
    {"dinov2_with_registers", "DINOv2 with registers", Kind::kDino},
    {"siglip", "SigLIP", Kind::kSiglip},
    {"vit", "ViT", Kind::kVit},
};

const Family* find_family_of(const Json& config) {
  const std::string type = config.is_object() ? config.get("model_type", "") : std::string();
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return &family;
  }
  return nullptr;
}

// Rows of length 1.
Tensor normalized(const Tensor& x) { return div(x, sqrt(sum(sqr(x), {-1}, true))); }

// "id2label", by number.
std::vector<std::string> read_labels(const Json& config) {
  const Json* named = config.find("id2label");
  if (!named || !named->is_object()) return {};
  std::vector<std::string> labels(named->as_object().size());
  for (const auto& [number, label] : named->as_object()) {
    size_t index = 0;
    for (const char digit : number) {
      if (digit < '0' || digit > '9' || index >= labels.size()) throw bad_setting(cat("id2label has '", number, "'"));
      index = 10 * index + static_cast<size_t>(digit - '0');
    }
    if (number.empty() || index >= labels.size()) throw bad_setting(cat("id2label has '", number, "'"));
    labels[index] = label.as_text();
  }
  return labels;
}

double number_of(WeightLoader& loader, const std::string& name) {
  const Tensor value = loader.vector(name, {1});
  return value.defined() ? value.to_device(Device::cpu()).item() : 0;
}

}  // namespace

std::vector<PictureFamily> picture_families() {
  std::vector<PictureFamily> families;
  for (const Family& family : kFamilies) families.push_back({family.model_type, family.title});
  return families;
}

bool is_picture_model(const Json& config) { return find_family_of(config) != nullptr; }

struct PictureModel::Settings {
  Kind kind = Kind::kVit;
  VitConfig tower;
  std::optional<TextTowerConfig> texts;
  std::string stem;  // of names outside the towers
  int64_t projected = 0, head_intermediate = 0;
  std::vector<std::string> labels;
  bool has_classifier = false;

  std::vector<std::string> stacks() const {
    std::vector<std::string> stacks = {tower.names.layers};
    if (texts) stacks.push_back(texts->stem + "encoder.layers.");
    return stacks;
  }
};

PictureModel::Settings PictureModel::read(const WeightSource& source) {
  const Json& config = source.config();
  const Family* family = find_family_of(config);
  if (!family) {
    throw Error(ErrorCode::kUnsupported, cat(file_name(source),
                                             " is not a model of pictures that Wick knows: those are "
                                             "CLIP, SigLIP, ViT and DINOv2"));
  }
  Settings settings;
  settings.kind = family->kind;
  const bool has_texts = family->kind == Kind::kClip || family->kind == Kind::kSiglip;
  const ConfigReader outer(config);
  if (!has_texts) {
    settings.tower = read_vit_config(outer, source);
    settings.labels = family->kind == Kind::kVit ? read_labels(config) : std::vector<std::string>();
    settings.has_classifier = family->kind == Kind::kVit && source.has("classifier.weight");
    return settings;
  }
  settings.tower = read_vit_config(ConfigReader(config.at("vision_config")), source);
  TextTowerConfig texts = read_text_tower_config(ConfigReader(config.at("text_config")), family->model_type);
  texts.stem = stem_of(source, "embeddings.token_embedding.weight");
  settings.stem =
      texts.stem.substr(0, texts.stem.size() - std::min(texts.stem.size(), std::string("text_model.").size()));
  settings.projected = family->kind == Kind::kClip ? read_count(outer, "projection_dim") : settings.tower.width;
  settings.texts = std::move(texts);
  return settings;
}

PictureModel::PictureModel(const Settings& settings, WeightLoader& loader)
    : family_(settings.tower.family), tower_(settings.tower, loader), labels_(settings.labels) {
  const ArenaPause keep;
  const int64_t width = settings.tower.width;
  if (settings.texts) texts_.emplace(*settings.texts, loader);
  if (settings.kind == Kind::kClip) {
    family_ = "clip";
    picture_projection_ = loader.linear(settings.stem + "visual_projection", settings.projected, width, false);
    text_projection_ =
        loader.linear(settings.stem + "text_projection", settings.projected, settings.texts->width, false);
    scale_ = std::exp(number_of(loader, settings.stem + "logit_scale"));
  }
  if (settings.kind == Kind::kSiglip) {
    family_ = "siglip";
    text_projection_ = loader.linear(settings.texts->stem + "head", width, settings.texts->width, true);
    scale_ = std::exp(number_of(loader, settings.stem + "logit_scale"));
    bias_ = number_of(loader, settings.stem + "logit_bias");
    const VitNames& names = settings.tower.names;
    const std::string stem =
        names.layers.substr(0, names.layers.size() - std::string("encoder.layers.").size()) + "head.";
    PoolingHead head;
    head.probe = loader.vector(stem + "probe", {1, width});
    Linear all;
    all.weight = loader.vector(stem + "attention.in_proj_weight", {3 * width, width});
    all.bias = loader.vector(stem + "attention.in_proj_bias", {3 * width});
    head.q = weight_rows(all, 0, width);
    head.k = weight_rows(all, width, width);
    head.v = weight_rows(all, 2 * width, width);
    head.out = loader.linear(stem + "attention.out_proj", width, width, true);
    head.norm = loader.norm(stem + "layernorm", NormKind::kLayer, width, settings.tower.eps, true, true, 0);
    head.mlp.activation = settings.tower.activation;
    head.mlp.up = loader.linear(stem + "mlp.fc1", settings.tower.intermediate, width, true);
    head.mlp.down = loader.linear(stem + "mlp.fc2", width, settings.tower.intermediate, true);
    head_ = std::move(head);
  }
  if (settings.has_classifier) classifier_ = loader.linear("classifier", std::ssize(labels_), width, true);
  parameters_ = loader.parameters();
  weight_bytes_ = loader.bytes();
}

ModelPlan PictureModel::plan(const WeightSource& source, const ModelOptions&) {
  const Settings settings = read(source);
  ModelPlan plan;
  plan.family = source.config().get("model_type", "");
  plan.preflight =
      preflight_parts(source, settings.stacks(), [&](WeightLoader& loader) { PictureModel(settings, loader); });
  return plan;
}

std::unique_ptr<PictureModel> PictureModel::load(const WeightSource& source, const ModelOptions& options) {
  const Settings settings = read(source);
  std::unique_ptr<PictureModel> model;
  load_parts(source, options, settings.stacks(),
             [&](WeightLoader& loader) { model.reset(new PictureModel(settings, loader)); });
  return model;
}

int64_t PictureModel::width() const {
  return picture_projection_.defined() ? picture_projection_.outputs() : tower_.config().width;
}

Tensor PictureModel::rows(const Tensor& pixels, const SequenceHooks* hooks) const {
  return tower_.encode(pixels, hooks).to_device(Device::cpu());
}

Tensor PictureModel::pool_patches(const Tensor& rows, int64_t pictures) const {
  const PoolingHead& head = *head_;
  const int64_t width = tower_.config().width, heads = tower_.config().heads, count = rows.dim(0) / pictures;
  const auto in_heads = [&](const Tensor& x, int64_t each) {
    return transpose(reshape(x, {-1, each, heads, width / heads}), 1, 2);
  };
  const Tensor query = broadcast_as(in_heads(head.q(head.probe), 1), {pictures, heads, 1, width / heads}).contiguous();
  const Tensor seen =
      scaled_dot_product_attention(query, in_heads(head.k(rows), count), in_heads(head.v(rows), count), {});
  const Tensor x = head.out(reshape(transpose(seen, 1, 2), {pictures, width}));
  return head.mlp({head.norm(x)}, x, BatchHooks(), 0);
}

Tensor PictureModel::pool(const Tensor& rows, const GridSize& grid, int64_t pictures) const {
  if (head_) return pool_patches(rows, pictures);
  const int64_t each = tower_.config().extra_rows() + grid.count();
  return reshape(narrow(reshape(rows, {pictures, each, rows.dim(1)}), 1, 0, 1), {pictures, rows.dim(1)}).contiguous();
}

Tensor PictureModel::embed(const Tensor& pixels) const {
  const GridSize grid = tower_.grids_of(pixels).front();
  Tensor x = pool(tower_.encode(pixels), grid, pixels.dim(0));
  if (picture_projection_.defined()) x = picture_projection_(x);
  return (texts_ ? normalized(x) : x).to_device(Device::cpu());
}

Tensor PictureModel::embed_texts(std::span<const std::vector<int32_t>> texts) const {
  if (!texts_) {
    throw Error(ErrorCode::kUnsupported, cat("a ", family_, " reads no texts; CLIP and SigLIP do"));
  }
  return normalized(text_projection_(texts_->encode(texts))).to_device(Device::cpu());
}

Tensor PictureModel::match(const Tensor& pictures, const Tensor& texts) const {
  return add(mul(matmul(pictures, transpose(texts, 0, 1)), scale_), bias_);
}

Tensor PictureModel::probabilities(const Tensor& match) const {
  return family_ == "siglip" ? sigmoid(match) : softmax(match, -1);
}

Tensor PictureModel::classify(const Tensor& pixels) const {
  if (!classifier_.defined()) {
    throw Error(ErrorCode::kUnsupported, cat("this ", family_, " has no labels of its own",
                                             texts_ ? "; give some to compare the picture with" : ""));
  }
  const GridSize grid = tower_.grids_of(pixels).front();
  return classifier_(pool(tower_.encode(pixels), grid, pixels.dim(0))).to_device(Device::cpu());
}

}  // namespace wick
