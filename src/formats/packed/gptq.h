#pragma once

#include <string_view>

#include "formats/loaded_weight.h"
#include "formats/packed/quant_config.h"

namespace wick {

// A linear layer [out, in] as GPTQ stores it.
struct GptqTensors {
  Tensor qweight;  // i32 [in * bits / 32, out]: a word holds consecutive inputs, lowest bits first
  Tensor qzeros;   // i32 [groups, out * bits / 32]: a word holds consecutive outputs
  Tensor scales;   // f16 [groups, out]
  Tensor g_idx;    // i32 [in], the group of each input; may be undefined
};

// The same numbers as kGroup4 or kGroup8 [out, in]; inputs are sorted by group when act-order has mixed them. `name`
// stands in messages. Throws Error(kBadFile) when shapes or groups contradict each other or the config.
LoadedWeight assemble_gptq(const GptqTensors& tensors, const QuantConfig& config, std::string_view name);

}  // namespace wick
