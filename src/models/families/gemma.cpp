#include "models/families/families.h"

#include <cmath>

namespace wick {

// Llama, with norms around 1, scaled embeddings and GELU.
DecoderConfig gemma_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.norm_offset = 1;
  decoder.embedding_scale = std::sqrt(static_cast<float>(decoder.hidden));
  // The oldest files say "gelu" and mean the tanh form; hidden_activation is right where there is one.
  decoder.activation = activation_named(config.text("hidden_activation", "gelu_pytorch_tanh"));
  decoder.head_dim = config.integer("head_dim", 256);
  decoder.ropes = {read_rope(config, decoder.head_dim, decoder.max_positions)};
  decoder.tied = config.flag("tie_word_embeddings", true);
  return decoder;
}

}  // namespace wick
