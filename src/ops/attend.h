#pragma once

#include "ops/paged_attention.h"

namespace wick {

// Projections of some tokens, f32.
struct AttendInput {
  Tensor query;  // [tokens, heads, dim]
  Tensor key;    // [tokens, kv_heads, dim]
  Tensor value;  // [tokens, kv_heads, value_dim]
};

// What happens to heads of queries and keys before they meet: an RMS norm over each, then rotation.
struct HeadTurns {
  Tensor query_weight, key_weight;  // f32 [dim]; undefined: no norm. Both or none
  float eps = 0;
  Tensor cos, sin;  // f32 [tokens, rotary / 2], as in rope; undefined: no rotation
  bool interleaved = false;
};

struct Attended {
  Tensor out;      // f32 [tokens, heads, value_dim]
  Tensor queries;  // f32 [tokens, heads, dim], normed and rotated; undefined unless they are wanted
};

// Norms and rotates heads, stores keys and values in `blocks`, and attends: the bits of rms_norm, rope, store_kv and
// paged_attention one after the other on the CPU. With `wants_queries` the same kernels run and give the same result.
Attended attend(const AttendInput& input, const HeadTurns& turns, const KvBlocks& blocks, const PagedRows& rows,
                const PagedAttentionOptions& options, bool wants_queries);

}  // namespace wick
