#include "speech/qwen3_asr/qwen3_asr.h"

#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"
#include "models/load_parts.h"
#include "models/read_count.h"

namespace wick {
namespace {

constexpr std::string_view kModelType = "qwen3_asr";

// The first release wraps everything in a "thinker".
const Json& inner_config(const Json& config) {
  const Json* thinker = config.find("thinker_config");
  return thinker && thinker->is_object() ? *thinker : config;
}

DecoderConfig read_decoder(const Json& inner) {
  const ConfigReader config(inner.at("text_config"));
  DecoderConfig decoder = qwen3_config(config);
  decoder.family = kModelType;
  decoder.tied = config.flag("tie_word_embeddings", inner.get("tie_word_embeddings", false));
  check_decoder_config(decoder);
  return decoder;
}

constexpr double kUsualTime = 80;  // milliseconds per class
constexpr int64_t kMostClasses = 1 << 20;

int32_t token_setting(const Json& config, std::string_view name, const DecoderConfig& decoder) {
  const int64_t token = config.at(name).as_int();
  if (token < 0 || token >= decoder.vocabulary) {
    throw bad_setting(cat(name, " = ", token, ", which is outside the vocabulary of ", decoder.vocabulary));
  }
  return static_cast<int32_t>(token);
}

// How many times a forced aligner has classes for; 0 for models that write text.
int64_t time_classes(const WeightSource& source, const Json& inner) {
  if (inner.find("classify_num")) return read_count(ConfigReader(inner), "classify_num", kMostClasses);
  const TensorEntry* head = source.checkpoint().find("score.weight");
  return head && head->shape.rank() == 2 ? head->shape[0] : 0;
}

}  // namespace

bool is_qwen3_asr(const Json& config) {
  const Json* type = config.is_object() ? config.find("model_type") : nullptr;
  return type && type->is_text() && type->as_text() == kModelType;
}

struct Qwen3Asr::Settings {
  DecoderConfig decoder;
  AudioEncoderConfig encoder;
  int32_t audio_token = 0;
  std::optional<Times> times;

  std::vector<std::string> stacks() const { return {decoder.names.layers, encoder.prefix + "layers."}; }
};

Qwen3Asr::Settings Qwen3Asr::read(const WeightSource& source, const ModelOptions& options) {
  const Json& config = source.config();
  if (!is_qwen3_asr(config)) {
    throw Error(ErrorCode::kUnsupported, cat(file_name(source), ": the config.json beside it is not that of a ",
                                             kModelType, ", a model for speech"));
  }
  if (options.context < 0) {
    throw Error(ErrorCode::kInvalidArgument, cat("a context of ", options.context, " tokens is asked for"));
  }
  const Json& inner = inner_config(config);
  Settings settings;
  DecoderConfig& decoder = settings.decoder = read_decoder(inner);
  AudioEncoderConfig& encoder = settings.encoder = read_audio_encoder_config(ConfigReader(inner.at("audio_config")));
  if (encoder.output != decoder.hidden) {
    throw bad_setting(cat("output_dim = ", encoder.output, ", expected the text's hidden_size, ", decoder.hidden));
  }
  settings.audio_token = token_setting(inner, "audio_token_id", decoder);

  const bool thinker = source.has("thinker.model.embed_tokens.weight");
  const std::string text = thinker ? "thinker.model." : "model.language_model.";
  decoder.names.embed = text + "embed_tokens";
  decoder.names.layers = text + "layers.";
  decoder.names.final_norm = text + "norm";
  decoder.names.head = thinker ? "thinker.lm_head" : "lm_head";
  if (const int64_t classes = time_classes(source, inner); classes > 0) {
    const Json& outer = config.find("timestamp_token_id") ? config : inner;
    settings.times = Times{classes, outer.get("timestamp_segment_time", kUsualTime) / 1e3,
                           token_setting(outer, "timestamp_token_id", decoder)};
    if (!(settings.times->seconds > 0)) throw bad_setting("timestamp_segment_time is not above 0");
    decoder.classes = classes;
    decoder.tied = false;
    decoder.head_bias = config.get("token_classification_bias", false);
    if (!thinker) decoder.names.head = "score";
  }
  encoder.prefix = thinker ? "thinker.audio_tower." : "model.audio_tower.";
  encoder.project_in = thinker ? "thinker.audio_tower.proj1" : "model.multi_modal_projector.linear_1";
  encoder.project_out = thinker ? "thinker.audio_tower.proj2" : "model.multi_modal_projector.linear_2";
  return settings;
}

Qwen3Asr::Qwen3Asr(const Settings& settings, WeightLoader& loader, const ModelOptions& options)
    : decoder_(settings.decoder, loader, options),
      encoder_(settings.encoder, loader, options),
      audio_token_(settings.audio_token),
      times_(settings.times),
      parameters_(loader.parameters()),
      weight_bytes_(loader.bytes()) {}

ModelPlan Qwen3Asr::plan(const WeightSource& source, const ModelOptions& options) {
  const Settings settings = read(source, options);
  ModelPlan plan;
  plan.family = kModelType;
  plan.preflight =
      preflight_parts(source, settings.stacks(), [&](WeightLoader& loader) { Qwen3Asr(settings, loader, options); });
  return plan;
}

std::unique_ptr<Qwen3Asr> Qwen3Asr::load(const WeightSource& source, const ModelOptions& options) {
  const Settings settings = read(source, options);
  std::unique_ptr<Qwen3Asr> model;
  load_parts(source, options, settings.stacks(),
             [&](WeightLoader& loader) { model.reset(new Qwen3Asr(settings, loader, options)); });
  return model;
}

std::unique_ptr<Qwen3Asr> Qwen3Asr::load(const std::filesystem::path& path, const ModelOptions& options) {
  return load(WeightSource(Checkpoint::open(path)), options);
}

}  // namespace wick
