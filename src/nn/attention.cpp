#include "nn/attention.h"

#include "nn/attention_map.h"
#include "ops/clamp.h"
#include "ops/permute.h"
#include "ops/reshape.h"
#include "ops/rope.h"

namespace wick {
namespace {

Tensor rotated(const Tensor& x, const RopeRows& angles, bool interleaved) {  // x [tokens, heads, head_dim]
  if (!angles.cos.defined()) return x;
  return transpose(rope(transpose(x, 0, 1), angles.cos, angles.sin, interleaved), 0, 1);
}

}  // namespace

Tensor Attention::operator()(const Tensor& x, const RopeRows& rope, bool interleaved, const AttentionStep& step,
                             const KvBlocks& kv, int layer) const {
  const int64_t tokens = x.dim(0);
  const BatchHooks& hooks = *step.hooks;
  const auto project = [&](const Linear& linear, const Norm& norm, int64_t count, HookPoint point) {
    Tensor y = linear(x);
    if (clip > 0) y = clamp(y, -clip, clip);
    y = hooks(point, layer, reshape(y, {tokens, count, head_dim}));
    if (!norm.present()) return y;
    if (!norm_whole_rows) return norm(y);
    return reshape(norm(reshape(y, {tokens, count * head_dim})), {tokens, count, head_dim});
  };
  const Tensor query = rotated(project(q, q_norm, heads, HookPoint::kAttnQ), rope, interleaved).contiguous();
  const Tensor key = rotated(project(k, k_norm, kv_heads, HookPoint::kAttnK), rope, interleaved);
  const Tensor value = project(v, {}, kv_heads, HookPoint::kAttnV);
  store_kv(key, value, step.rows, kv);

  Tensor z = paged_attention(query, kv, step.rows, options);
  if (hooks.active()) z = hook_attention_maps(hooks, layer, query, kv, step.rows, options, z);
  z = hooks(HookPoint::kAttnZ, layer, z);
  return out(reshape(z, {tokens, -1}));
}

}  // namespace wick
