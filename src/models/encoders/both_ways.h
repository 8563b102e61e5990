#pragma once

#include "models/encoders/encoder_config.h"

namespace wick {

// Language models that were trained further to look both ways: EmbeddingGemma, GTE-Qwen2. Their config.json says so by
// use_bidirectional_attention = true or is_causal = false.
bool looks_both_ways(const ConfigReader& config);
// The same layers without a direction. Throws Error(kUnsupported) for families with parts that encoders do not have.
EncoderConfig both_ways(const ConfigReader& config);

}  // namespace wick
