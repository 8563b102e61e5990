#pragma once

#include <optional>
#include <vector>

#include "hooks/batch_hooks.h"
#include "nn/attention_map.h"
#include "nn/kv_cache.h"
#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/rope.h"

namespace wick {

// What attention needs to know of the rows it is given, the same in every layer.
struct AttentionStep {
  PagedRows rows;
  std::vector<WholeRows> whole;  // rows that see each other
  const BatchHooks* hooks = nullptr;
  Tensor query_growth;  // f32 [rows, 1, 1]: what queries are multiplied with in layers that ask for it
};

// Attention of DiffLlama: the second half of the heads is taken from the first, so that what both see cancels out. A
// head has the values of two, one from each half of the key heads, which the cache keeps side by side for each key
// head.
struct Differential {
  float share = 0;  // of the second half
  Norm norm;        // of a head's values
  float scale = 1;  // of them afterwards
};

// Grouped-query attention with its projections, over paged keys and values.
struct Attention {
  Linear q, k, v, out;
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  Norm q_norm, k_norm;
  Norm v_norm;                   // of each head's values
  bool shares_kv = false;        // keys and values are those that an earlier layer has written; there is no k, no v
  bool keys_are_values = false;  // what k gives, before its norm; there is no v
  std::optional<Differential> differential;
  bool norm_whole_rows = false;  // q_norm and k_norm run over all heads together instead of each
  bool norm_after_rope = false;
  bool gated = false;  // q gives each head's gate behind its query, whose sigmoid the head's values are multiplied with
  bool grows = false;  // queries are multiplied with AttentionStep::query_growth
  Norm sub_norm;       // of all heads' values together, before `out`
  float clip = 0;      // q, k and v are clamped to +-clip; 0: not
  PagedAttentionOptions options;

  // What attention adds to the residual stream, for an input [tokens, hidden]; plus `residual`, where that is defined.
  // Writes the rows' keys and values to `kv`. `rope` undefined: positions are not rotated. `keep` (i64) says which rows
  // are wanted, `residual` has no others; undefined: all.
  Tensor operator()(const LinearInput& input, const Tensor& residual, const RopeRows& rope, bool interleaved,
                    const AttentionStep& step, const KvBlocks& kv, const Tensor& keep, int layer) const;
};

}  // namespace wick
