#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/shape.h"

namespace wick {

// What a weight does, as far as its precision matters.
enum class TensorRole : uint8_t {
  kKeep,  // never quantised: norms, vectors, routers, convolutions
  kOutput,
  kEmbedding,
  kValue,  // attention's values, alone or fused with q and k
  kKey,
  kQuery,
  kAttentionOutput,
  kDown,     // of the feed-forward
  kExperts,  // gate or up of stacked or numbered experts
  kOther,
};

// From its GGUF or Hugging Face name. `experts` of the down kind count as kDown.
TensorRole tensor_role(std::string_view name, const Shape& shape);
bool is_expert(std::string_view name);
// The number behind "blk.", "layers.", "h." or "blocks."; empty for tensors outside of layers.
std::optional<int64_t> layer_of(std::string_view name);

}  // namespace wick
