#pragma once

#include "formats/weights.h"
#include "models/decoder/decoder_config.h"

namespace wick {

// Text models inside larger ones, and old files, have other prefixes: "language_model.model.layers.", "h.". Finds where
// the embedding is and moves the names there; leaves them when it is nowhere.
void find_prefix(const WeightSource& source, DecoderNames& names);

}  // namespace wick
