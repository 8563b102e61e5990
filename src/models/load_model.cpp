#include "models/load_model.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/gguf/gguf_config.h"
#include "models/adapter_slots.h"
#include "models/auto_config.h"
#include "models/config_check.h"
#include "models/decoder/decoder.h"
#include "models/encoder_decoder/encoder_decoder.h"
#include "models/encoders/encoder_config.h"
#include "models/load_parts.h"
#include "models/name_prefix.h"
#include "models/registry.h"
#include "models/vision/load_vision.h"
#include "tensor/arena.h"

namespace wick {
namespace {

// A model as it can be built, twice: first to list its tensors, then to load them.
class ModelBuilder {
 public:
  ModelBuilder(const WeightSource& source, const ModelOptions& options) : source_(source), options_(options) {
    if (!source.config().is_object()) {
      throw Error(
          ErrorCode::kBadFile,
          cat(file_name(source), ": there is no config.json beside it, so it is not known what kind of model it is"));
    }
    const Json& json = text_config(source.config());
    const bool is_nested = &json != &source.config();
    config_.emplace(json);
    if (options.context < 0) {
      throw Error(ErrorCode::kInvalidArgument, cat("a context of ", options.context, " tokens is asked for"));
    }
    const std::string type = config_->text("model_type", "");
    check_not_refused(type);
    if (is_encoder_decoder(source)) {
      plan_.family = type;
      both_ = read_encoder_decoder_config(*config_, source);
      return;
    }
    if (is_encoder_config(json)) {
      throw Error(ErrorCode::kUnsupported,
                  cat("of a '", type, "'",
                      is_encoder_family(type) ? "" : " with 'is_causal' false or 'use_bidirectional_attention' true",
                      " the encoder is read, which writes no text: `wick embed` makes vectors with it"));
    }
    const Family* family = find_family(type);
    plan_.family = type;
    plan_.inferred = !family;
    decoder_ = family ? family->decoder(*config_) : infer_decoder_config(*config_, source);
    // The outer settings are those of the whole.
    if (is_nested) decoder_.tied = source.config().get("tie_word_embeddings", decoder_.tied);
    check_decoder_config(decoder_);
    find_prefix(source, decoder_.names);
    vision_ = plan_vision(source, decoder_.hidden, decoder_.vocabulary);
  }

  std::unique_ptr<LanguageModel> build(WeightLoader& loader) const {
    if (both_) return std::make_unique<EncoderDecoder>(*both_, loader, options_);
    auto decoder = std::make_unique<Decoder>(decoder_, loader, options_);
    if (vision_) decoder->set_vision(vision_->build(loader));
    return decoder;
  }

  ModelPlan plan() {
    if (both_) {
      const std::string stacks[] = {both_->encoder.names.layers, both_->decoder.names.layers};
      plan_.preflight = preflight_parts(source_, stacks, [&](WeightLoader& loader) { build(loader); });
      return plan_;
    }
    WeightLoader listing = WeightLoader::listing();
    build(listing);
    check_settings(*config_, plan_.inferred);
    plan_.preflight = preflight(source_, listing.wanted(), decoder_.names.layers, plan_.inferred);
    if (vision_) {
      for (std::string& name : preflight(source_, listing.wanted(), vision_->layers, false).unused) {
        plan_.preflight.unused.push_back(std::move(name));
      }
    }
    return plan_;
  }

 private:
  const WeightSource& source_;
  const ModelOptions& options_;
  std::optional<ConfigReader> config_;
  std::optional<EncoderDecoderConfig> both_;
  DecoderConfig decoder_;
  std::optional<VisionPlan> vision_;  // empty: the model does not see
  ModelPlan plan_;
};

}  // namespace

ModelPlan plan_model(const WeightSource& source, const ModelOptions& options) {
  return ModelBuilder(source, options).plan();
}

std::unique_ptr<LanguageModel> load_model(const WeightSource& source, const ModelOptions& options) {
  const ArenaPause keep;
  ModelBuilder builder(source, options);
  const ModelPlan plan = builder.plan();
  if (!plan.preflight.ok()) {
    throw Error(ErrorCode::kBadFile, cat(file_name(source), ": ", plan.preflight.sentence()));
  }
  if (plan.inferred && options.notice) {
    options.notice(cat("the model_type '", plan.family,
                       "' is not known; how it computes was inferred from config.json and tensor names, which "
                       "`wick verify` can check"));
  }
  WeightLoader loader(source, options);
  int64_t total = 0;
  for (const TensorEntry& entry : source.checkpoint().entries()) total += entry.bytes;
  loader.expect_total(total);
  std::unique_ptr<LanguageModel> model = builder.build(loader);
  const bool reads_files = options.quantize == "auto" && options.device == Device::cpu();
  for (const auto& file : source.checkpoint().files()) {
    if (reads_files) file->map_if_in_memory();
  }
  for (const LoraChoice& lora : options.loras) {
    model->adapters().add(read_lora(lora.path, source), lora.scale, lora.name);
  }
  if (reads_files) model->set_files(source.checkpoint().files());
  if (options.progress) options.progress(total, total);
  return model;
}

}  // namespace wick
