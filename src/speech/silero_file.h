#pragma once

#include <filesystem>
#include <memory>

#include "media/silero_scorer.h"

namespace wick {

// Silero's voice detector from a file that is published: silero_vad.onnx, which holds both rates, or a .safetensors
// file with one of them (silero_vad_16k.safetensors). Throws Error(kBadFile) naming what is missing or has another
// shape, Error(kInvalidArgument) for rates other than 8000 and 16000 and for a file that does not have the rate.
std::shared_ptr<const SileroWeights> load_silero(const std::filesystem::path& path, int sample_rate = 16000);

}  // namespace wick
