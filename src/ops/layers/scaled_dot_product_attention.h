#pragma once

#include <optional>

#include "tensor/tensor.h"

namespace wick {

struct AttentionOptions {
  Tensor mask;                 // added to the scores, broadcast to [batch, heads, queries, keys]; u8: 0 hides the key
  bool causal = false;         // query i of n sees keys up to i + (keys - n)
  std::optional<float> scale;  // 1 / sqrt(head_dim) when empty
};

// softmax(query key^T * scale + mask) value, without ever holding the whole score matrix.
Tensor scaled_dot_product_attention(
    const Tensor& query,                    // [batch, heads, queries, head_dim]
    const Tensor& key,                      // [batch, kv_heads, keys, head_dim]; heads is a multiple of kv_heads
    const Tensor& value,                    // [batch, kv_heads, keys, value_dim]
    const AttentionOptions& options = {});  // returns [batch, heads, queries, value_dim]

}  // namespace wick
