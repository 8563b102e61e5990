#pragma once

#include <span>
#include <string>

#include "base/function_ref.h"
#include "formats/weights.h"
#include "models/preflight.h"
#include "models/weight_loader.h"

namespace wick {

// Models of several stacks of layers, built as language models are: once to list their tensors, once to load them.

std::string file_name(const WeightSource& source);

// What the model that `build` makes wants and what the file has. `stacks`: the prefixes of the layers' names; empty:
// there are no layers.
PreflightReport preflight_parts(const WeightSource& source, std::span<const std::string> stacks,
                                FunctionRef<void(WeightLoader&)> build);

// Builds for good. Throws Error(kBadFile) with the preflight's sentence, before any weight is read.
void load_parts(const WeightSource& source, const ModelOptions& options, std::span<const std::string> stacks,
                FunctionRef<void(WeightLoader&)> build);

}  // namespace wick
