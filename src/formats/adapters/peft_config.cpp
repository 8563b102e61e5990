#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/adapters/lora_file.h"

namespace wick {
namespace {

// What does not change the computation, or is read elsewhere.
constexpr std::string_view kHarmless[] = {"alpha_pattern",
                                          "auto_mapping",
                                          "base_model_name_or_path",
                                          "bias",
                                          "corda_config",
                                          "eva_config",
                                          "exclude_modules",
                                          "fan_in_fan_out",
                                          "inference_mode",
                                          "init_lora_weights",
                                          "layers_pattern",
                                          "layers_to_transform",
                                          "loftq_config",
                                          "lora_alpha",
                                          "lora_dropout",
                                          "megatron_core",
                                          "modules_to_save",
                                          "peft_type",
                                          "peft_version",
                                          "qalora_group_size",
                                          "r",
                                          "rank_pattern",
                                          "revision",
                                          "runtime_config",
                                          "target_modules",
                                          "task_type",
                                          "use_dora",
                                          "use_rslora",
                                          "ensure_weight_tying"};

bool says_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool();
  if (value.is_array()) return value.as_array().empty();
  return value.is_object() && value.as_object().empty();
}

Error unsupported(const Json& place, std::string_view what) {
  return {ErrorCode::kUnsupported, cat(place.place(), ": ", what)};
}

// PiSSA and its like change the base model, too, when an adapter is made.
void check_start(const Json& start) {
  if (!start.is_text() || start.as_text() == "gaussian" || start.as_text() == "eva") return;
  throw unsupported(start, cat("adapters that begin with '", start.as_text(),
                               "' may stand for a changed base model and are not supported; PEFT can convert them"));
}

}  // namespace

PeftConfig::PeftConfig(const Json& config) {
  if (const std::string type = config.get("peft_type", ""); type != "LORA") {
    throw unsupported(config, cat("an adapter of peft_type '", type, "' is not supported, only LORA"));
  }
  for (const auto& [name, value] : config.as_object()) {
    bool known = false;
    for (const std::string_view harmless : kHarmless) known |= name == harmless;
    if (!known && !says_nothing(value)) throw unsupported(value, "this setting of an adapter is not supported");
  }
  if (const std::string bias = config.get("bias", "none"); bias != "none") {
    throw unsupported(config, cat("an adapter with bias '", bias, "' is not supported, only none"));
  }
  if (const Json* saved = config.find("modules_to_save"); saved && !says_nothing(*saved)) {
    throw unsupported(*saved, "adapters that replace whole modules are not supported");
  }
  if (const Json* start = config.find("init_lora_weights")) check_start(*start);
  alpha_ = config.get("lora_alpha", 8.0);
  rank_stable_ = config.get("use_rslora", false);
  dora_ = config.get("use_dora", false);
  const Json* pattern = config.find("alpha_pattern");
  if (!pattern || !pattern->is_object()) return;
  for (const auto& [key, value] : pattern->as_object()) {
    if (key.find_first_of("^$*+?()[]{}|\\") != std::string::npos) {
      throw unsupported(value, "patterns of alpha that are more than names are not supported");
    }
    alpha_pattern_.emplace_back(key, value.as_number());
  }
}

float PeftConfig::scale(const std::string& module, int64_t rank) const {
  double alpha = alpha_;
  for (const auto& [key, own] : alpha_pattern_) {
    if (module != key && !module.ends_with("." + key)) continue;
    alpha = own;
    break;
  }
  const auto size = static_cast<double>(rank);
  return static_cast<float>(alpha / (rank_stable_ ? std::sqrt(size) : size));
}

}  // namespace wick
