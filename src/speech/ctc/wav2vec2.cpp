#include "speech/ctc/wav2vec2.h"

#include "base/error.h"
#include "base/text.h"
#include "models/load_parts.h"
#include "nn/scratch.h"

namespace wick {
namespace {

std::string type_of(const Json& config) {
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  return type && type->is_text() ? type->as_text() : "";
}

Wav2Vec2Config read(const WeightSource& source) {
  if (!is_wav2vec2(source.config())) {
    throw Error(ErrorCode::kUnsupported,
                cat(file_name(source), ": the config.json beside it is not that of a wav2vec2, a model for speech"));
  }
  Wav2Vec2Config config = read_wav2vec2_config(ConfigReader(source.config()));
  config.old_norm_names = source.has(config.prefix + "encoder.pos_conv_embed.conv.weight_g");
  return config;
}

ConformerConfig conformer_config(const Wav2Vec2Config& config) {
  using Positions = Wav2Vec2Config::Positions;
  ConformerConfig conformer;
  conformer.width = config.width;
  conformer.heads = config.heads;
  conformer.intermediate = config.intermediate;
  conformer.kernel = config.depthwise_kernel;
  conformer.eps = config.eps;
  conformer.activation = config.activation;
  conformer.positions = config.positions == Positions::kRelative ? ConformerConfig::Positions::kRelative
                        : config.positions == Positions::kRotary ? ConformerConfig::Positions::kRotary
                                                                 : ConformerConfig::Positions::kNone;
  conformer.rotary_base = config.rotary_base;
  use_wav2vec2_names(conformer);
  return conformer;
}

std::vector<std::string> stacks(const Wav2Vec2Config& config) { return {config.prefix + "encoder.layers."}; }

}  // namespace

bool is_wav2vec2(const Json& config) {
  const std::string type = type_of(config);
  return type == "wav2vec2" || type == "wav2vec2-conformer";
}

Wav2Vec2::Wav2Vec2(const Wav2Vec2Config& config, WeightLoader& loader, const ModelOptions& options)
    : config_(config), device_(options.device), feature_encoder_(config, loader, options.device) {
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string prefix = cat(config.prefix, "encoder.layers.", i, ".");
    if (config.conformer) {
      conformer_layers_.emplace_back(conformer_config(config), prefix, loader, device_);
    } else {
      layers_.emplace_back(config, prefix, loader);
    }
  }
  norm_ = loader.norm(config.prefix + "encoder.layer_norm", NormKind::kLayer, config.width, config.eps, true, true, 0);
  head_ = loader.linear("lm_head", config.vocabulary, config.width, true);
  parameters_ = loader.parameters();
  weight_bytes_ = loader.bytes();
}

Tensor Wav2Vec2::logits(std::span<const float> samples) const {
  const int64_t frames = config_.frames_of(static_cast<int64_t>(samples.size()));
  if (frames < 1) {
    throw Error(ErrorCode::kInvalidArgument, cat(samples.size(), " samples are too few for a frame of wav2vec2"));
  }
  Arena arena;
  Tensor logits;
  {
    const ArenaScope scope(arena);
    const bool norm_last = config_.norm_first || config_.conformer;
    Tensor x = feature_encoder_(samples);
    if (!norm_last) x = norm_(x);
    for (const Wav2Vec2Layer& layer : layers_) x = layer(x);
    if (config_.conformer) {
      const ConformerPlaces places = conformer_places(conformer_config(config_), frames, device_);
      for (const ConformerLayer& layer : conformer_layers_) x = layer(x, places);
    }
    if (norm_last) x = norm_(x);
    const Tensor y = head_(x);
    const ArenaPause keep;
    logits = y.clone();
  }
  return logits;
}

ModelPlan Wav2Vec2::plan(const WeightSource& source, const ModelOptions& options) {
  const Wav2Vec2Config config = read(source);
  ModelPlan plan;
  plan.family = type_of(source.config());
  plan.preflight =
      preflight_parts(source, stacks(config), [&](WeightLoader& loader) { Wav2Vec2(config, loader, options); });
  return plan;
}

std::unique_ptr<Wav2Vec2> Wav2Vec2::load(const WeightSource& source, const ModelOptions& options) {
  const Wav2Vec2Config config = read(source);
  std::unique_ptr<Wav2Vec2> model;
  load_parts(source, options, stacks(config),
             [&](WeightLoader& loader) { model.reset(new Wav2Vec2(config, loader, options)); });
  return model;
}

std::unique_ptr<Wav2Vec2> Wav2Vec2::load(const std::filesystem::path& path, const ModelOptions& options) {
  return load(WeightSource(Checkpoint::open(path)), options);
}

}  // namespace wick
