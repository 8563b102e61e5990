#include "models/families/families.h"

namespace wick {

DecoderConfig mistral_config(const ConfigReader& config) {  // Llama, with a sliding window
  DecoderConfig decoder = llama_config(config);
  read_windows(config, decoder);
  return decoder;
}

}  // namespace wick
