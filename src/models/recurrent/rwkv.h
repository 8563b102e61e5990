#pragma once

#include <memory>

#include "models/language_model.h"
#include "models/weight_loader.h"

namespace wick {

class ConfigReader;

// RWKV-4, as Hugging Face's RwkvForCausalLM has it.
std::unique_ptr<LanguageModel> make_rwkv(const ConfigReader& config, WeightLoader& loader, const ModelOptions& options);

}  // namespace wick
