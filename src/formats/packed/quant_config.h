#pragma once

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "formats/packed/scale_grid.h"

namespace wick {

// config.json's "quantization_config": how the linear weights of a checkpoint are stored. Which of them are quantised
// is seen from the tensors that there are.
struct QuantConfig {
  enum class Method : uint8_t { kNone, kGptq, kAwq, kCompressed, kMxfp4, kFp8, kModelopt, kBitsandbytes };
  Method method = Method::kNone;
  int bits = 0;
  int64_t group_size = -1;   // weights along the input that share scale and zero; -1: all, or as the scales' shape says
  bool zero_offset = false;  // GPTQ's first layout stores zero - 1
  std::optional<BlockShape> block = {};  // of weights that share a scale
};

// kNone when the config has none; `folder` (may be empty) is where a hf_quant_config.json may say it instead. Throws
// Error(kUnsupported) naming the setting that Wick does not read, Error(kBadFile) when it is malformed.
QuantConfig read_quant_config(const Json& config, const std::filesystem::path& folder = {});

// For the readers of each method, which take the settings.
QuantConfig read_compressed_tensors(const Json& settings);
QuantConfig read_modelopt(const Json& settings);
Error unsupported_setting(const Json& place, std::string_view what);
// Throws Error(kUnsupported) for a key that is not among the known ones and has a value.
void check_settings_known(const Json& settings, std::initializer_list<std::string_view> known);

}  // namespace wick
