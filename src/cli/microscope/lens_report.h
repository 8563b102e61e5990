#pragma once

#include "cli/microscope/microscope.h"
#include "interp/attribution.h"
#include "interp/probes/logit_lens.h"

namespace wick {

enum class LensShow : uint8_t { kToken, kProbability, kEntropy, kKl };

// The parts of what `wick lens` tells; each adds its sections and its JSON.
void add_lens_grid(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                   const LensMap& map, LensShow show);
// The best tokens of every point at one column of the map, one below the other.
void add_lens_ladder(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                     const LensMap& map, size_t column);
void add_norms(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
               std::span<const int64_t> positions);
void add_losses(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                std::span<const int64_t> positions);

enum class AttributeBy : uint8_t { kLayer, kHead, kNeuron };
void add_attribution(MicroscopeReport& report, const Microscope& microscope, std::span<const int32_t> tokens,
                     const AttributionTarget& target, AttributeBy by, int64_t top);

}  // namespace wick
