#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "formats/adapters/lora_file.h"

namespace wick {

struct LoraToMerge {
  std::vector<LoraModule> modules;
  float scale = 1;
};

// Writes the checkpoint of `base`, a Hugging Face folder of floats, with the adapters in its weights: a folder with
// model.safetensors and the other files of the model. Each weight is computed in double and rounded to the dtype that
// it had. done(name, bytes) hears of each tensor before it is written. Throws Error(kUnsupported) for GGUF files,
// packed weights and modules that are no stored matrix, Error(kInvalidArgument) when the folder exists and is not
// empty. What goes wrong leaves no checkpoint.
void merge_lora(const WeightSource& base, const std::vector<LoraToMerge>& adapters, const std::filesystem::path& out,
                const std::function<void(const std::string& name, int64_t bytes)>& done = {});

}  // namespace wick
