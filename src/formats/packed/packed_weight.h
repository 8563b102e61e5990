#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint.h"
#include "formats/loaded_weight.h"
#include "formats/packed/quant_config.h"

namespace wick {

// A weight that a checkpoint keeps in several tensors: codes, scales, zeros.
struct PackedWeight {
  Shape shape;                     // that it will have; where its tensors contradict each other, load() says so
  DType dtype;                     // likewise, or f32 where groups do not fill the blocks of this one
  std::vector<std::string> parts;  // the large tensors, which nobody needs once it is loaded
  std::function<LoadedWeight()> load;
};

// Empty when a tensor of this name is stored as it is, or none is there. The checkpoint must outlive the result.
std::optional<PackedWeight> find_packed_weight(const Checkpoint& file, const QuantConfig& config,
                                               std::string_view name);

// The weight that a stored tensor is a part of, in a folder of quantised weights.
struct PartOfWeight {
  std::string weight;
  bool has_codes = false;  // else scales, zeros and the like
};
// Empty for tensors of other kinds, among them codes under the weight's own name.
std::optional<PartOfWeight> part_of_weight(const Checkpoint& file, const QuantConfig& config, std::string_view stored);

}  // namespace wick
