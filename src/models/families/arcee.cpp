#include "models/families/families.h"

namespace wick {

// Llama, with an MLP that has no gate.
DecoderConfig arcee_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  decoder.gated = false;
  decoder.activation = activation_named(config.text("hidden_act", "relu2"));
  return decoder;
}

}  // namespace wick
