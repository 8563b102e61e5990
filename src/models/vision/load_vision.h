#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/weights.h"
#include "models/vision/vision_encoder.h"
#include "models/weight_loader.h"

namespace wick {

// The part of a language model that sees, as it can be built twice: to list its tensors, then to load them.
struct VisionPlan {
  std::string family;  // of the whole model: "qwen3_vl"
  std::string layers;  // the prefix of its layers' names
  std::function<std::unique_ptr<VisionEncoder>(WeightLoader& loader)> build;
};

// A family of models that see, by the model_type of the whole.
struct SeeingFamily {
  std::string_view model_type, title;
};
std::vector<SeeingFamily> seeing_families();

// Of a model whose text part has this hidden size and vocabulary. Empty where the checkpoint has no such part, or one
// that Wick does not know: the model then reads text alone. Throws Error(kBadFile) naming a setting at fault.
std::optional<VisionPlan> plan_vision(const WeightSource& source, int64_t hidden, int64_t vocabulary);

}  // namespace wick
