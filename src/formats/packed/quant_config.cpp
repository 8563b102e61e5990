#include "formats/packed/quant_config.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/text.h"
#include "formats/gguf/gguf_config.h"

namespace wick {
namespace {

int64_t read_group_size(const Json& settings) {
  const auto size = settings.get<int64_t>("group_size", settings.get<int64_t>("q_group_size", 128));
  if (size != -1 && (size <= 0 || size % 32 != 0)) {
    throw unsupported_setting(settings,
                              cat("a group_size of ", size, " is not supported, only -1 and multiples of 32"));
  }
  return size;
}

// GPTQModel's settings of single modules: those may be left out, but not differ.
void check_same_everywhere(const Json& settings) {
  const Json* dynamic = settings.find("dynamic");
  if (!dynamic || !dynamic->is_object()) return;
  for (const auto& [pattern, own] : dynamic->as_object()) {
    if (!pattern.starts_with("-:") && own.is_object() && !own.as_object().empty()) {
      throw unsupported_setting(own, "modules with settings of their own are not supported");
    }
  }
}

QuantConfig read_gptq(const Json& settings) {
  QuantConfig config{QuantConfig::Method::kGptq, settings.get("bits", 4), read_group_size(settings), true};
  if (config.bits != 4 && config.bits != 8) {
    throw unsupported_setting(settings, cat("GPTQ with ", config.bits, " bits is not supported, only 4 and 8"));
  }
  check_same_everywhere(settings);
  const std::string layout = lower_ascii(settings.get("checkpoint_format", settings.get("format", "gptq")));
  if (layout != "gptq" && layout != "gptq_v2") {
    throw unsupported_setting(settings,
                              cat("the GPTQ checkpoint_format '", layout, "' is not supported, only gptq and gptq_v2"));
  }
  config.zero_offset = layout == "gptq";
  return config;
}

QuantConfig read_awq(const Json& settings) {
  QuantConfig config{QuantConfig::Method::kAwq, settings.get("bits", settings.get("w_bit", 4)),
                     read_group_size(settings)};
  if (config.bits != 4)
    throw unsupported_setting(settings, cat("AWQ with ", config.bits, " bits is not supported, only 4"));
  const std::string version = lower_ascii(settings.get("version", "gemm"));
  if (version != "gemm")
    throw unsupported_setting(settings, cat("the AWQ version '", version, "' is not supported, only gemm"));
  return config;
}

QuantConfig read_fp8(const Json& settings) {
  check_settings_known(
      settings, {"quant_method", "activation_scheme", "fmt", "weight_block_size", "scale_fmt", "modules_to_not_convert",
                 "ignored_layers", "dequantize", "kv_cache_scheme", "activation_scale_ub"});
  const std::string format = lower_ascii(settings.get("fmt", "e4m3"));
  if (format != "e4m3" && format != "float8_e4m3fn") {
    throw unsupported_setting(settings, cat("FP8 of the format '", format, "' is not supported, only e4m3"));
  }
  QuantConfig config{QuantConfig::Method::kFp8, 8};
  const Json* block = settings.find("weight_block_size");
  if (!block || block->is_null()) return config;
  const auto sizes = block->to<std::vector<int64_t>>();
  if (sizes.size() != 2 || sizes[0] <= 0 || sizes[1] <= 0 || sizes[0] > 1 << 30 || sizes[1] > 1 << 30) {
    throw unsupported_setting(*block, "blocks of weights have two sizes above 0");
  }
  config.block = BlockShape{sizes[0], sizes[1]};
  return config;
}

QuantConfig read_bitsandbytes(const Json& settings) {
  check_settings_known(settings, {"quant_method", "load_in_4bit", "load_in_8bit", "_load_in_4bit", "_load_in_8bit",
                                  "bnb_4bit_quant_type", "bnb_4bit_use_double_quant", "bnb_4bit_compute_dtype",
                                  "bnb_4bit_quant_storage", "llm_int8_skip_modules", "llm_int8_threshold",
                                  "llm_int8_enable_fp32_cpu_offload", "llm_int8_has_fp16_weight"});
  const bool four = settings.get("load_in_4bit", false), eight = settings.get("load_in_8bit", false);
  if (four == eight) throw unsupported_setting(settings, "either load_in_4bit or load_in_8bit should be true");
  if (eight && settings.get("llm_int8_has_fp16_weight", false)) {
    throw unsupported_setting(settings, "'llm_int8_has_fp16_weight' is not supported");
  }
  return {QuantConfig::Method::kBitsandbytes, four ? 4 : 8};
}

constexpr std::pair<std::string_view, QuantConfig (*)(const Json&)> kMethods[] = {
    {"gptq", read_gptq},
    {"awq", read_awq},
    {"compressed-tensors", read_compressed_tensors},
    {"fp8", read_fp8},
    {"fbgemm_fp8", read_fp8},
    {"modelopt", read_modelopt},
    {"bitsandbytes", read_bitsandbytes},
    {"mxfp4",
     [](const Json&) {
       return QuantConfig{QuantConfig::Method::kMxfp4, 4, 32};
     }},
};

}  // namespace

Error unsupported_setting(const Json& place, std::string_view what) {
  return {ErrorCode::kUnsupported, cat(place.place(), ": ", what)};
}

void check_settings_known(const Json& settings, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : settings.as_object()) {
    if (value.is_null() || std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw unsupported_setting(value, "this setting of a quantised checkpoint is not known");
  }
}

QuantConfig read_quant_config(const Json& config, const std::filesystem::path& folder) {
  if (!config.is_object()) return {};
  const Json* settings = nullptr;
  for (const Json* place : {&config, &text_config(config)}) {
    for (const std::string_view key : {"quantization_config", "compression_config"}) {
      const Json* found = place->find(key);
      if (!settings && found && !found->is_null()) settings = found;
    }
  }
  if (!settings) {
    const std::filesystem::path own = folder / "hf_quant_config.json";
    if (folder.empty() || !std::filesystem::exists(own)) return {};
    const Json file = Json::load(own);
    return read_modelopt(file.at("quantization"));
  }
  const std::string method = lower_ascii(settings->at("quant_method").as_text());
  std::string known;
  for (const auto& [name, read] : kMethods) {
    if (name == method) return read(*settings);
    known += cat(known.empty() ? "" : ", ", name);
  }
  throw unsupported_setting(*settings, cat("the quant_method '", method, "' is not supported, only ", known));
}

}  // namespace wick
