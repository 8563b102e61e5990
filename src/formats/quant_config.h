#pragma once

#include <cstdint>

#include "base/json.h"

namespace wick {

// config.json's "quantization_config": how the linear weights of a checkpoint are stored.
struct QuantConfig {
  enum class Method : uint8_t { kNone, kGptq, kAwq, kInt8, kMxfp4 };
  Method method = Method::kNone;
  int bits = 0;
  int64_t group_size = -1;   // weights along the input that share scale and zero; -1: all of them
  bool zero_offset = false;  // GPTQ's first layout stores zero - 1
};

// kNone when the config has none. Throws Error(kUnsupported) naming the setting that Wick does not read,
// Error(kBadFile) when it is malformed.
QuantConfig read_quant_config(const Json& config);

}  // namespace wick
