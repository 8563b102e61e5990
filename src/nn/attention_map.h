#pragma once

#include "hooks/batch_hooks.h"
#include "ops/layers/paged_attention.h"

namespace wick {

// Attention with its scores and patterns written out, for the sequences that have hooks on them. Watching does not
// change z [tokens, heads, value_dim], what paged_attention gave; a changed map gives the sequence's rows of a new z.
Tensor hook_attention_maps(const BatchHooks& hooks, int layer, const Tensor& query, const KvBlocks& kv,
                           const PagedRows& rows, const PagedAttentionOptions& options, const Tensor& z);

}  // namespace wick
