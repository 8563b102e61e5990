#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "formats/checkpoint.h"

namespace wick {

// What a GGUF file says of its model, as the config.json that Hugging Face would keep beside it, together with what its
// architecture implies (activation, layer types) and its tensors show (biases, tied embeddings, rope factors). An
// architecture that is not in the table keeps its name as model_type. Throws Error(kBadFile) naming the key at fault.
Json config_from_gguf(const Checkpoint& gguf);

// The other way: general.architecture and the keys of that architecture, without tokenizer and file type. Throws
// Error(kUnsupported) when Wick knows no architecture of GGUF for this model_type, Error(kBadFile) naming the field at
// fault.
Metadata gguf_from_config(const Json& config);

// Tensors that GGUF files carry for rope and config.json describes in numbers: name and f32 values; none for most.
struct RopeTensor {
  std::string name;  // rope_freqs.weight, rope_factors_long.weight, rope_factors_short.weight
  std::vector<float> factors;
};
std::vector<RopeTensor> rope_tensors(const Json& config);

// The part of config.json that describes the text model: "text_config" where there is one, here or in a
// "thinker_config".
const Json& text_config(const Json& config);

}  // namespace wick
