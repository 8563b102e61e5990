#pragma once

#include <span>

#include "hooks/batch_hooks.h"
#include "ops/layers/paged_attention.h"

namespace wick {

// Rows of a pass that belong to positions which all see each other, in layers with a window, too.
struct WholeRows {
  int64_t sequence = 0;           // which of the pass
  int64_t row = 0, position = 0;  // of the first of these rows
  int64_t begin = 0, end = 0;     // of the positions; the rows go up to `end`
};

// z [tokens, heads, value_dim], what paged_attention gave, with the rows that see each other computed anew.
Tensor attend_whole(std::span<const WholeRows> whole, const Tensor& query, const KvBlocks& kv, const PagedRows& rows,
                    const PagedAttentionOptions& options, const Tensor& z);

// Attention with its scores and patterns written out, for the sequences that have hooks on them. Watching does not
// change z [tokens, heads, value_dim]; a changed map gives the sequence's rows of a new z.
Tensor hook_attention_maps(const BatchHooks& hooks, int layer, const Tensor& query, const KvBlocks& kv,
                           const PagedRows& rows, const PagedAttentionOptions& options,
                           std::span<const WholeRows> whole, const Tensor& z);

}  // namespace wick
