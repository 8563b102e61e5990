#include "verify/reference_check.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "models/encoder_decoder/encoder_decoder_config.h"
#include "models/encoders/encoder_config.h"
#include "models/load_model.h"
#include "speech/ctc/wav2vec2.h"
#include "speech/qwen3_asr/qwen3_asr.h"
#include "speech/whisper/whisper.h"
#include "verify/reference_comparison.h"

namespace wick {
namespace {

// The number behind `stem`; empty when there is none.
std::optional<int> number_behind(std::string_view name, std::string_view stem) {
  if (!name.starts_with(stem)) return std::nullopt;
  name.remove_prefix(stem.size());
  int number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc() || end != name.data() + name.size() || number < 0) return std::nullopt;
  return number;
}

// Transformers lists what enters a layer; in its models without attention but xLSTM, what leaves it.
HookPoint layer_state(const ModelFacts& facts) {
  return facts.kv_layers.empty() && facts.family != "xlstm" ? HookPoint::kResidPost : HookPoint::kResidPre;
}

void compare_states(const ModelFacts& facts, const HookCache& seen, ReferenceComparison& comparison) {
  const int layers = static_cast<int>(facts.layers);
  std::map<int, std::string> hidden, attention;  // by number
  for (const std::string& name : comparison.names()) {
    if (const auto number = number_behind(name, "hidden_")) hidden[*number] = name;
    if (const auto number = number_behind(name, "attention_")) attention[*number] = name;
  }
  for (const auto& [number, name] : hidden) {
    if (number > layers) continue;
    const bool is_many = comparison.copies(name);  // which are not yet one behind the last layer
    const HookPoint last = is_many ? HookPoint::kResidPost : HookPoint::kFinalNorm;
    const HookPoint point = number < layers ? layer_state(facts) : last;
    const std::string place = hook_name(point, number < layers ? number : is_many ? layers - 1 : -1);
    if (seen.has(place)) comparison.compare(name, seen.at(place));
  }
  int next = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const std::string place = hook_name(HookPoint::kAttnPattern, layer);
    if (!seen.has(place)) continue;
    const auto name = attention.find(next++);
    if (name != attention.end()) comparison.compare(name->second, seen.at(place));
  }
}

void compare_language_model(const WeightSource& source, const ModelOptions& options, ReferenceComparison& comparison) {
  for (const char* name : {"pixel_values", "input_features", "input_values", "decoder_input_ids"}) {
    if (!comparison.has(name)) continue;
    throw Error(ErrorCode::kUnsupported, cat("the values of the reference depend on '", name,
                                             "'; of language models, only those that read tokens are compared"));
  }
  const std::vector<int32_t> tokens = comparison.tokens("input_ids");
  comparison.get("logits");  // nothing is loaded where they are missing
  const auto model = load_model(source, options);
  const ModelFacts& facts = model->facts();
  comparison.report().family = facts.family;
  comparison.report().inferred = plan_model(source, options).inferred;

  HookSpec spec;
  spec.capture(hook_name(layer_state(facts), HookSite::kEveryLayer)).capture(hook_name(HookPoint::kFinalNorm, -1));
  const std::string last = cat("hidden_", facts.layers);
  if (comparison.has(last) && comparison.copies(last)) {
    spec.capture(hook_name(HookPoint::kResidPost, static_cast<int>(facts.layers) - 1));
  }
  if (comparison.has("attention_0")) spec.capture(hook_name(HookPoint::kAttnPattern, HookSite::kEveryLayer));
  HookCache seen;
  const SequenceHooks hooks{&spec, &seen};
  ReferenceReader reader(*model, std::ssize(tokens) + std::ssize(comparison.greedy()));
  const Tensor logits = reader.read(tokens, &hooks);
  compare_states(facts, seen, comparison);
  comparison.compare_logits("logits", logits);
  comparison.compare_greedy(reader, logits);

  for (const std::string& name : comparison.names()) {
    if (!name.starts_with("input_ids_") || !comparison.has(cat("logits_", name.substr(10)))) continue;
    const std::vector<int32_t> text = comparison.tokens(name);
    ReferenceReader other(*model, std::ssize(text));
    comparison.compare_logits(cat("logits_", name.substr(10)), other.read(text));
  }
}

// The type of most bytes.
DType main_dtype(const Checkpoint& checkpoint) {
  std::array<int64_t, kDTypeCount> bytes{};
  for (const TensorEntry& entry : checkpoint.entries()) {
    if (entry.dtype) bytes[static_cast<size_t>(*entry.dtype)] += entry.bytes;
  }
  return static_cast<DType>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
}

}  // namespace

bool ReferenceReport::ok() const {
  return std::all_of(tensors.begin(), tensors.end(), [](const TensorCheck& check) { return check.ok; }) &&
         std::all_of(tokens.begin(), tokens.end(), [](const TokenCheck& check) { return check.ok; });
}

ReferenceReport check_reference(const WeightSource& source, const Checkpoint& reference,
                                const ReferenceOptions& options) {
  const Json& config = source.config();
  ReferenceComparison comparison(reference, options.tolerance);
  comparison.report().weights = main_dtype(source.checkpoint());
  const bool is_encoder = is_encoder_config(config);
  const auto compare = is_encoder_decoder(source) && comparison.has("decoder_input_ids") ? compare_encoder_decoder
                       : is_encoder                                                      ? compare_text_encoder
                       : is_qwen3_asr(config)                                            ? compare_qwen3_asr
                       : is_whisper(config)                                              ? compare_whisper
                       : is_wav2vec2(config)                                             ? compare_wav2vec2
                                                                                         : nullptr;
  if (compare) {
    comparison.report().family = config.at("model_type").as_text();
    compare(source, options.model, comparison);
  } else {
    compare_language_model(source, options.model, comparison);
  }
  return comparison.finish();
}

}  // namespace wick
