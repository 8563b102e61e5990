#pragma once

#include "formats/weights.h"
#include "models/config_reader.h"
#include "models/decoder/decoder_config.h"

namespace wick {

// The settings of a model whose model_type is not known, from the numbers of config.json and the names and shapes of
// its tensors: where the layers are, fused or separate projections, biases, kinds of norm, gates, tied embeddings.
// Throws Error(kUnsupported) saying what could not be found.
DecoderConfig infer_decoder_config(const ConfigReader& config, const WeightSource& source);

}  // namespace wick
