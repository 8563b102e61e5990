#include "cli/serve/served_presets.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/device_option.h"
#include "cli/sampling_options.h"
#include "cli/shared_options.h"
#include "server/api/generation/request_defaults.h"
#include "server/api/json_copy.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kOfLoading[] = {"context", "kv", "quantize", "template", "device"};

bool is_of_loading(const ConfigEntry& entry) {
  return std::find(std::begin(kOfLoading), std::end(kOfLoading), entry.key) != std::end(kOfLoading);
}

// What requests call a setting of the command line.
std::string field_name(std::string_view setting) {
  if (setting == "typical") return "typical_p";
  if (setting == "repeat-penalty") return "repetition_penalty";
  if (setting == "repeat-window") return "penalty_window";
  if (setting == "dry-length") return "dry_allowed_length";
  std::string name(setting);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Its text was checked by the option.
OrderedJson field_value(const SamplingSetting& setting, const std::string& text) {
  if (std::string_view(setting.name) == "mirostat") return true;
  return OrderedJson::parse(text.starts_with('+') ? text.substr(1) : text);
}

void add_sampling(CLI::App& command, SamplingChoice& check, OrderedJson& fields) {
  for (const SamplingSetting& setting : sampling_settings()) {
    const auto take = [&](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) {
        check.set(setting.name, text);
        if (const size_t equals = text.find('='); equals != std::string::npos) {  // of logit-bias
          fields["logit_bias"][text.substr(0, equals)] = OrderedJson::parse(text.substr(equals + 1));
        } else {
          fields[field_name(setting.name)] = field_value(setting, text);
        }
      }
    };
    if (std::string_view(setting.name) == "mirostat") {
      command.add_flag_callback("--mirostat", [&fields] { fields["mirostat"] = true; });
    } else {
      command.add_option_function<std::vector<std::string>>(cat("--", setting.name), take)
          ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    }
  }
}

}  // namespace

const Preset* served_preset(const std::string& text) {
  std::error_code ignored;
  if (fs::exists(text, ignored)) return nullptr;
  const size_t equals = text.find('=');
  const std::string name = equals == std::string::npos ? text : text.substr(equals + 1);
  return fs::exists(name, ignored) ? nullptr : find_preset(name);
}

void apply_preset(const Preset& preset, ModelEntry& entry) {
  CLI::App options;
  OrderedJson fields = OrderedJson::object();
  SamplingChoice check;
  std::string quantize, kv, device, system;
  std::vector<std::string> stop;
  int64_t max_tokens = -1;
  bool ignore_end = false;
  add_context_option(options, entry.engine.context);
  add_quantize_option(options, quantize);
  add_kv_option(options, kv);
  add_device_option(options, device);
  options.add_option("--template", entry.load.chat_template);
  options.add_option("--system", system);
  options.add_option("--stop", stop)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options.add_option("--max-tokens", max_tokens)->check(count_from(-1));
  options.add_flag("--ignore-end", ignore_end);
  add_sampling(options, check, fields);
  for (const ConfigEntry& each : preset.options) {
    if (options.get_option_no_throw(cat("--", each.key))) continue;
    throw Error(ErrorCode::kBadFile,
                cat(preset.source, ":", each.line, ": wick serve takes no ", each.key, " of a preset"));
  }
  preset.apply(options);
  if (!quantize.empty()) entry.load.quantize = quantize;
  if (!kv.empty()) entry.engine.kv_dtype = kv_dtype(kv);
  if (!device.empty()) entry.load.device = device_named(device);
  if (!system.empty()) fields["system"] = system;
  if (!stop.empty()) fields["stop"] = stop;
  if (max_tokens >= 0) fields["max_tokens"] = max_tokens;
  if (ignore_end) fields["ignore_eos"] = true;
  try {
    entry.defaults = std::make_shared<const RequestDefaults>(
        RequestDefaults::fields().read(to_json(fields, cat("the preset ", in_quotes(preset.name)))));
  } catch (const Error& error) {
    throw Error(ErrorCode::kBadFile, cat(preset.source, ": the preset ", in_quotes(preset.name), ": ", error.what()));
  }
}

void join_presets(std::vector<ModelEntry>& entries, const std::vector<const Preset*>& presets) {
  std::vector<ModelEntry> joined;
  for (size_t i = 0; i < entries.size(); ++i) {
    ModelEntry& entry = entries[i];
    const auto& options = presets[i] ? presets[i]->options : std::vector<ConfigEntry>();
    const bool is_alike = presets[i] && std::none_of(options.begin(), options.end(), is_of_loading);
    const auto first = std::find_if(joined.begin(), joined.end(),
                                    [&](const ModelEntry& other) { return is_alike && other.path == entry.path; });
    if (first == joined.end()) {
      joined.push_back(std::move(entry));
    } else {
      first->presets.push_back({entry.name, entry.defaults});
    }
  }
  entries = std::move(joined);
}

}  // namespace wick
