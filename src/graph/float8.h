#pragma once

#include <cstdint>

#include "graph/value.h"

namespace wick::graph {

// Floats of 8 and 4 bits: kF8E4M3FN, kF8E4M3FNUZ, kF8E5M2, kF8E5M2FNUZ and kF4E2M1.
bool is_small_float(ElementType type);
float decode_small_float(uint8_t bits, ElementType type);
// The nearest value, of two the one with an even last bit. What is larger than the largest becomes that one where
// `saturate`, else NaN, or infinity where the type has it.
float round_to_small_float(float value, ElementType type, bool saturate);

}  // namespace wick::graph
