#pragma once

#include "nn/attention.h"

namespace wick {

// Multi-head latent attention of DeepSeek: keys and values of all heads are products of one small vector per token, the
// latent, which is what the cache keeps, with the one rotated part that heads share. Queries are taken to the latent's
// space and values out of it, so that keys and values themselves are never made.
struct LatentAttention {
  Linear q_down;  // [q_rank, hidden]; undefined: q_up takes the input itself
  Norm q_norm;
  Linear q_up;              // [heads * (plain + rotated), q_rank]
  Linear kv_down;           // [rank + rotated, hidden]: the latent, then the rotated part of the keys
  Norm kv_norm;             // of the latent
  Tensor key_up, value_up;  // [heads, plain, rank] and [heads, value_dim, rank], any float
  Linear out;               // [hidden, heads * value_dim]
  int64_t heads = 0, plain = 0, rotated = 0, rank = 0;
  PagedAttentionOptions options;

  // As Attention's. Hooks see the queries as projected, as keys the latent with its rotated part, as values the latent,
  // and the heads' values as `out` takes them.
  Tensor operator()(const LinearInput& input, const Tensor& residual, const RopeRows& rope, bool interleaved,
                    const AttentionStep& step, const KvBlocks& kv, const Tensor& keep, int layer) const;
};

}  // namespace wick
