#pragma once

#include "ops/layers/paged_attention.h"

namespace wick {

// Blocks of keys and values that so many tokens fill, the last one perhaps in part.
inline int64_t kv_blocks_for(int64_t tokens) { return (tokens + kKvBlockTokens - 1) / kKvBlockTokens; }

}  // namespace wick
