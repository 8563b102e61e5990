#include "nn/latent_attention.h"

#include "nn/attention_map.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/layers/paged_attention.h"
#include "ops/rearrange.h"
#include "ops/view.h"

namespace wick {
namespace {

// x [tokens, heads, in] times each head's own matrix [heads, in, out].
Tensor by_head(const Tensor& x, const Tensor& matrices) {
  return transpose(matmul(transpose(x, 0, 1).contiguous(), matrices), 0, 1).contiguous();
}

}  // namespace

Tensor LatentAttention::operator()(const LinearInput& input, const Tensor& residual, const RopeRows& rope,
                                   bool interleaved, const AttentionStep& step, const KvBlocks& kv, const Tensor& keep,
                                   int layer) const {
  const int64_t tokens = input.x.dim(0);
  const BatchHooks& hooks = *step.hooks;
  const Tensor projected = q_down.defined() ? q_up(q_norm.input_for(q_down(input, {})), {}) : q_up(input, {});
  const Tensor query = hooks(HookPoint::kAttnQ, layer, reshape(projected, {tokens, heads, plain + rotated}));
  const Tensor turned = rotate_heads(narrow(query, 2, plain, rotated), rope, interleaved);
  const Tensor absorbed = concat({by_head(narrow(query, 2, 0, plain), key_up), turned}, 2);

  const Tensor down = kv_down(input, {});
  const Tensor latent = reshape(kv_norm(narrow(down, 1, 0, rank).contiguous()), {tokens, 1, rank});
  const Tensor shared = reshape(narrow(down, 1, rank, rotated).contiguous(), {tokens, 1, rotated});
  const Tensor key =
      hooks(HookPoint::kAttnK, layer, concat({latent, rotate_heads(shared, rope, interleaved)}, 2)).contiguous();
  const Tensor value = hooks(HookPoint::kAttnV, layer, latent).contiguous();

  const bool wants_maps = hooks.wants(HookPoint::kAttnScores, layer) || hooks.wants(HookPoint::kAttnPattern, layer);
  const Attended attended =
      attend({absorbed, key, value}, {}, kv, step.rows, options, wants_maps || !step.whole.empty());
  Tensor z = attended.out;
  z = attend_whole(step.whole, attended.queries, kv, step.rows, options, z);
  if (wants_maps) z = hook_attention_maps(hooks, layer, attended.queries, kv, step.rows, options, step.whole, z);
  z = hooks(HookPoint::kAttnZ, layer, by_head(z, transpose(value_up, 1, 2)));
  z = reshape(z, {tokens, -1});
  return out({keep.defined() ? index_select(z, 0, keep) : z}, residual);
}

}  // namespace wick
