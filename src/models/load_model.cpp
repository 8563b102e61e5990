#include "models/load_model.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/gguf_config.h"
#include "models/auto_config.h"
#include "models/config_check.h"
#include "models/decoder.h"
#include "models/name_prefix.h"
#include "models/registry.h"
#include "tensor/arena.h"

namespace wick {
namespace {

// "backbone.layers." where "backbone.layers.0.norm.weight" is wanted.
std::string layer_prefix(const std::vector<WantedTensor>& wanted) {
  for (const WantedTensor& tensor : wanted) {
    const size_t number = tensor.name.find(".0.");
    if (number != std::string::npos) return tensor.name.substr(0, number + 1);
  }
  return "layers.";
}

std::string file_name(const WeightSource& source) {
  const auto& files = source.checkpoint().files();
  return files.empty() ? "the model" : files.front()->path().string();
}

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
    config_.emplace(json);
    if (options.context < 0) {
      throw Error(ErrorCode::kInvalidArgument, cat("a context of ", options.context, " tokens is asked for"));
    }
    const std::string type = config_->text("model_type", "");
    check_not_refused(type);
    const Family* family = find_family(type);
    plan_.family = type;
    if (family && family->own) {
      own_ = family->own;
      return;
    }
    plan_.inferred = !family;
    decoder_ = family ? family->decoder(*config_) : infer_decoder_config(*config_, source);
    check_decoder_config(decoder_);
    find_prefix(source, decoder_.names);
    layers_ = decoder_.names.layers;
  }

  std::unique_ptr<LanguageModel> build(WeightLoader& loader) const {
    if (own_) return own_(*config_, loader, options_);
    return std::make_unique<Decoder>(decoder_, loader, options_);
  }

  ModelPlan plan() {
    WeightLoader listing = WeightLoader::listing();
    build(listing);
    check_settings(*config_, plan_.inferred);
    plan_.preflight =
        preflight(source_, listing.wanted(), own_ ? layer_prefix(listing.wanted()) : layers_, plan_.inferred);
    return plan_;
  }

 private:
  const WeightSource& source_;
  const ModelOptions& options_;
  std::optional<ConfigReader> config_;
  DecoderConfig decoder_;
  decltype(Family::own) own_ = nullptr;
  std::string layers_;
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
  if (reads_files) model->set_files(source.checkpoint().files());
  if (options.progress) options.progress(total, total);
  return model;
}

}  // namespace wick
