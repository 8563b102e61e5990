#pragma once

#include <memory>
#include <string>

#include "formats/weights.h"
#include "models/language_model.h"
#include "models/model_options.h"
#include "models/preflight.h"

namespace wick {

// What would be loaded, found out from names and settings alone.
struct ModelPlan {
  std::string family;
  bool inferred = false;  // the model_type is not known; settings were read from config.json and tensor names
  PreflightReport preflight;
};
ModelPlan plan_model(const WeightSource& source, const ModelOptions& options = {});

// The language model in a checkpoint. Names and settings are checked first; throws Error(kBadFile) naming the tensor or
// the setting at fault, Error(kUnsupported) for what is not a language model that Wick knows.
std::unique_ptr<LanguageModel> load_model(const WeightSource& source, const ModelOptions& options = {});

}  // namespace wick
