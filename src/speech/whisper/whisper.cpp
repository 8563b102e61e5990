#include "speech/whisper/whisper.h"

#include "base/error.h"
#include "base/text.h"
#include "models/load_parts.h"

namespace wick {
namespace {

constexpr std::string_view kModelType = "whisper";

WhisperConfig read(const WeightSource& source, const ModelOptions& options) {
  if (!is_whisper(source.config())) {
    throw Error(ErrorCode::kUnsupported, cat(file_name(source), ": the config.json beside it is not that of a ",
                                             kModelType, ", a model for speech"));
  }
  if (options.context < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("a context of ", options.context, " tokens is asked for"));
  }
  WhisperConfig config = read_whisper_config(ConfigReader(source.config()));
  if (source.has("encoder.conv1.weight")) config.prefix.clear();  // saved without its head
  return config;
}

std::vector<std::string> stacks(const WhisperConfig& config) {
  return {config.prefix + "decoder.layers.", config.prefix + "encoder.layers."};
}

}  // namespace

bool is_whisper(const Json& config) {
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  return type && type->is_text() && type->as_text() == kModelType;
}

Whisper::Whisper(const WhisperConfig& config, WeightLoader& loader, const ModelOptions& options)
    : config_(config),
      decoder_(decoder_of(config), loader, options),
      encoder_(config, loader, options.device),
      parameters_(loader.parameters()),
      weight_bytes_(loader.bytes()) {}

ModelPlan Whisper::plan(const WeightSource& source, const ModelOptions& options) {
  const WhisperConfig config = read(source, options);
  ModelPlan plan;
  plan.family = kModelType;
  plan.preflight =
      preflight_parts(source, stacks(config), [&](WeightLoader& loader) { Whisper(config, loader, options); });
  return plan;
}

std::unique_ptr<Whisper> Whisper::load(const WeightSource& source, const ModelOptions& options) {
  const WhisperConfig config = read(source, options);
  std::unique_ptr<Whisper> model;
  load_parts(source, options, stacks(config),
             [&](WeightLoader& loader) { model.reset(new Whisper(config, loader, options)); });
  return model;
}

std::unique_ptr<Whisper> Whisper::load(const std::filesystem::path& path, const ModelOptions& options) {
  return load(WeightSource(Checkpoint::open(path)), options);
}

}  // namespace wick
