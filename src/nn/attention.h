#pragma once

#include "hooks/batch_hooks.h"
#include "nn/kv_cache.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/rope.h"

namespace wick {

// What attention needs to know of the rows it is given, the same in every layer.
struct AttentionStep {
  PagedRows rows;
  const BatchHooks* hooks = nullptr;
};

// Grouped-query attention with its projections, over paged keys and values.
struct Attention {
  Linear q, k, v, out;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  Norm q_norm, k_norm;
  bool norm_whole_rows = false;  // q_norm and k_norm run over all heads together instead of each
  float clip = 0;                // q, k and v are clamped to +-clip; 0: not
  PagedAttentionOptions options;

  // `rope` undefined: positions are not rotated. Writes the rows' keys and values to `kv`.
  Tensor operator()(const Tensor& x, const RopeRows& rope, bool interleaved, const AttentionStep& step,
                    const KvBlocks& kv, int layer) const;  // [tokens, hidden] -> [tokens, hidden]
  // The same of norm(x), plus x where it `adds`, without hooks, in as few kernels as the device allows.
  Tensor fused(const Norm& norm, const Tensor& x, bool adds, const RopeRows& rope, bool interleaved,
               const AttentionStep& step, const KvBlocks& kv) const;
};

}  // namespace wick
