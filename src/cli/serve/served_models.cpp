#include "cli/serve/served_models.h"

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/device_option.h"
#include "cli/models/file_kind.h"
#include "cli/serve/served_presets.h"
#include "cli/shared_options.h"
#include "engine/ember.h"
#include "formats/model_label.h"
#include "hub/find_model.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr char kEmberAsr[] = "ember-asr";

}  // namespace

ModelEntry served_model(const std::string& text, std::string_view built_in) {
  ModelEntry entry;
  std::error_code ignored;
  const size_t equals = text.find('=');
  const bool has_name = equals != std::string::npos && !fs::exists(text, ignored);
  const Preset* preset = served_preset(text);
  const std::string path = preset ? preset->model : has_name ? text.substr(equals + 1) : text;
  if (path == built_in && !fs::exists(path, ignored)) {
    entry.name = has_name ? text.substr(0, equals) : preset ? preset->name : path;
    return entry;
  }
  const FoundModel found =
      find_model(path, ". MODEL is a Hugging Face folder, a .gguf or a .safetensors file, Org/Name, or NAME=MODEL");
  const std::string other = other_kind_of_file(found.path);
  if (!other.empty()) throw Error(ErrorCode::kBadFile, cat(found.path.string(), ": ", other));
  entry.path = found.path;
  entry.name = has_name     ? text.substr(0, equals)
               : preset     ? preset->name
               : found.name ? found.name->text()
                            : model_label(found.path);
  if (entry.name.empty()) throw Error(ErrorCode::kInvalidArgument, cat(in_quotes(text), ": the model has no name"));
  return entry;
}

std::vector<SpeechEntry> served_speech_models(const std::vector<std::string>& models, const ServedLoad& load) {
  std::vector<SpeechEntry> entries;
  const fs::path aligner = load.aligner.empty() ? fs::path() : find_model(load.aligner).path;
  bool has_ember_asr = !has_ember();
  for (const std::string& text : models) {
    const ModelEntry entry = served_model(text, kEmberAsr);
    SpeechEntry& added = entries.emplace_back(SpeechEntry{entry.name, entry.path, {}});
    added.load.quantize = load.quantize;
    added.load.aligner = aligner;
    has_ember_asr = has_ember_asr || entry.name == kEmberAsr;
  }
  if (!has_ember_asr) entries.push_back({kEmberAsr, {}, {}});
  return entries;
}

std::vector<EncoderEntry> served_encoders(const std::vector<std::string>& models, const ServedLoad& load) {
  std::vector<EncoderEntry> entries;
  for (const std::string& text : models) {
    const ModelEntry entry = served_model(text, {});
    EncoderEntry& added = entries.emplace_back(EncoderEntry{entry.name, entry.path, {}});
    added.load.quantize = load.quantize;
    added.load.device = device_named(load.device);
    added.load.notice = warn;
  }
  return entries;
}

}  // namespace wick
