#include "nn/attention.h"

#include "nn/attention_map.h"
#include "ops/attend.h"
#include "ops/clamp.h"
#include "ops/index_select.h"
#include "ops/mul.h"
#include "ops/reshape.h"

namespace wick {
namespace {

// Norms that heads go through on their way to attention: others run before.
bool is_head_norm(const Norm& norm) { return norm.kind == NormKind::kRms && norm.weight.defined(); }

}  // namespace

Tensor Attention::operator()(const LinearInput& input, const Tensor& residual, const RopeRows& rope, bool interleaved,
                             const AttentionStep& step, const KvBlocks& kv, const Tensor& keep, int layer) const {
  const int64_t tokens = input.x.dim(0);
  const BatchHooks& hooks = *step.hooks;
  const auto parts = apply_linears(input, {&q, &k, &v});
  const auto heads_of = [&](const Tensor& projected, int64_t count, HookPoint point) {
    const Tensor y = clip > 0 ? clamp(projected, -clip, clip) : projected;
    return hooks(point, layer, reshape(y, {tokens, count, head_dim}));
  };
  Tensor query = heads_of(parts[0], heads, HookPoint::kAttnQ);
  Tensor key = heads_of(parts[1], kv_heads, HookPoint::kAttnK);
  const Tensor value = heads_of(parts[2], kv_heads, HookPoint::kAttnV);

  if (grows) query = mul(query, step.query_growth);
  HeadTurns turns{{}, {}, 0, rope.cos, rope.sin, interleaved};
  if (norm_after_rope && rope.cos.defined()) {
    query = rotate_heads(query, rope, interleaved);
    key = rotate_heads(key, rope, interleaved);
    turns.cos = turns.sin = {};
  }
  if (norm_whole_rows) {
    query = reshape(q_norm(reshape(query, {tokens, heads * head_dim})), {tokens, heads, head_dim});
    key = reshape(k_norm(reshape(key, {tokens, kv_heads * head_dim})), {tokens, kv_heads, head_dim});
  } else if (is_head_norm(q_norm) && is_head_norm(k_norm) && q_norm.eps == k_norm.eps) {
    turns.query_weight = q_norm.weight;
    turns.key_weight = k_norm.weight;
    turns.eps = q_norm.eps;
  } else {
    query = q_norm(query);
    key = k_norm(key);
  }
  const bool wants_maps = hooks.wants(HookPoint::kAttnScores, layer) || hooks.wants(HookPoint::kAttnPattern, layer);
  const Attended attended = attend({query, key, value}, turns, kv, step.rows, options, wants_maps);
  Tensor z = attended.out;
  if (wants_maps) z = hook_attention_maps(hooks, layer, attended.queries, kv, step.rows, options, z);
  z = reshape(hooks(HookPoint::kAttnZ, layer, z), {tokens, -1});
  return out(sub_norm.input_for(keep.defined() ? index_select(z, 0, keep) : z), residual);
}

}  // namespace wick
