#pragma once

#include <string_view>

#include "formats/loaded_weight.h"
#include "formats/packed/quant_config.h"

namespace wick {

// A linear layer [out, in] in AWQ's GEMM layout. A word holds the 4-bit codes of eight neighbouring outputs in the
// order 0, 2, 4, 6, 1, 3, 5, 7, lowest bits first.
struct AwqTensors {
  Tensor qweight;  // i32 [in, out / 8]
  Tensor qzeros;   // i32 [groups, out / 8]
  Tensor scales;   // f16 [groups, out]
};

// The same numbers as kGroup4 [out, in]. Throws Error(kBadFile) when shapes contradict each other or the config.
LoadedWeight assemble_awq(const AwqTensors& tensors, const QuantConfig& config, std::string_view name);

}  // namespace wick
