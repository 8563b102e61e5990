#include "nn/attention.h"

#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/paged_attention.h"
#include "ops/rearrange.h"
#include "ops/unary.h"
#include "ops/view.h"

namespace wick {
namespace {

// Norms that heads go through on their way to attention: others run before.
bool is_head_norm(const Norm& norm) { return norm.kind == NormKind::kRms && norm.weight.defined(); }

// Values [tokens, kv_heads, dim] of both halves of the key heads side by side, for each half.
Tensor side_by_side(const Tensor& value) {
  const int64_t half = value.dim(1) / 2;
  const Tensor pair = concat({narrow(value, 1, 0, half), narrow(value, 1, half, half)}, 2);
  return concat({pair, pair}, 1);
}

Tensor difference(const Tensor& z, const Differential& by) {
  const int64_t half = z.dim(1) / 2;
  const Tensor rest = sub(narrow(z, 1, 0, half), mul(narrow(z, 1, half, half), by.share));
  return mul(by.norm(rest), by.scale);
}

}  // namespace

Tensor Attention::operator()(const LinearInput& input, const Tensor& residual, const RopeRows& rope, bool interleaved,
                             const AttentionStep& step, const KvBlocks& kv, const Tensor& keep, int layer) const {
  const int64_t tokens = input.x.dim(0);
  const BatchHooks& hooks = *step.hooks;
  const auto parts = shares_kv         ? apply_linears(input, {&q})
                     : keys_are_values ? apply_linears(input, {&q, &k})
                                       : apply_linears(input, {&q, &k, &v});
  const auto heads_of = [&](const Tensor& projected, int64_t count, HookPoint point) {
    const Tensor y = clip > 0 ? clamp(projected, -clip, clip) : projected;
    return hooks(point, layer, reshape(y, {tokens, count, head_dim}));
  };
  Tensor queries = parts[0], gate;
  if (gated) {
    const Tensor both = reshape(queries, {tokens, heads, 2 * head_dim});
    queries = narrow(both, 2, 0, head_dim).contiguous();
    gate = hooks(HookPoint::kGate, layer, sigmoid(narrow(both, 2, head_dim, head_dim)));
  }
  Tensor query = heads_of(queries, heads, HookPoint::kAttnQ);
  const bool wants_maps = hooks.wants(HookPoint::kAttnScores, layer) || hooks.wants(HookPoint::kAttnPattern, layer);
  const auto finish = [&](const Tensor& attended, const Tensor& asked) {
    Tensor z = attend_whole(step.whole, asked, kv, step.rows, options, attended);
    if (wants_maps) z = hook_attention_maps(hooks, layer, asked, kv, step.rows, options, step.whole, z);
    z = hooks(HookPoint::kAttnZ, layer, z);
    if (differential) z = difference(z, *differential);
    z = reshape(gated ? mul(z, gate) : z, {tokens, -1});
    return out(sub_norm.input_for(keep.defined() ? index_select(z, 0, keep) : z), residual);
  };
  if (grows) query = mul(query, step.query_growth);
  if (shares_kv) {
    query = q_norm(query);
    if (rope.cos.defined()) query = rotate_heads(query, rope, interleaved);
    return finish(paged_attention(query, kv, step.rows, options), query);
  }
  Tensor key = heads_of(parts[1], kv_heads, HookPoint::kAttnK);
  Tensor value = v_norm(heads_of(parts[keys_are_values ? 1 : 2], kv_heads, HookPoint::kAttnV));
  if (differential) value = side_by_side(value);
  HeadRotation rotation{{}, {}, 0, rope.cos, rope.sin, interleaved};
  if (norm_after_rope && rope.cos.defined()) {
    query = rotate_heads(query, rope, interleaved);
    key = rotate_heads(key, rope, interleaved);
    rotation.cos = rotation.sin = {};
  }
  if (norm_whole_rows) {
    query = reshape(q_norm(reshape(query, {tokens, heads * head_dim})), {tokens, heads, head_dim});
    key = reshape(k_norm(reshape(key, {tokens, kv_heads * head_dim})), {tokens, kv_heads, head_dim});
  } else if (is_head_norm(q_norm) && is_head_norm(k_norm) && q_norm.eps == k_norm.eps) {
    rotation.query_weight = q_norm.weight;
    rotation.key_weight = k_norm.weight;
    rotation.eps = q_norm.eps;
  } else {
    query = q_norm(query);
    key = k_norm(key);
  }
  const Attended attended =
      attend({query, key, value}, rotation, kv, step.rows, options, wants_maps || !step.whole.empty());
  return finish(attended.out, attended.queries);
}

}  // namespace wick
