#include "nn/attention.h"

#include <array>

#include "nn/attention_map.h"
#include "ops/add.h"
#include "ops/clamp.h"
#include "ops/fused_kernels.h"
#include "ops/permute.h"
#include "ops/reshape.h"
#include "ops/rope.h"
#include "tensor/create.h"

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

Tensor Attention::fused(const Norm& norm, const Tensor& x, bool adds, const RopeRows& rope, bool interleaved,
                        const AttentionStep& step, const KvBlocks& kv) const {
  const FusedKernels* kernels = fused_kernels(x.device());
  const auto is_rms = [](const Norm& norm) { return !norm.present() || norm.kind == NormKind::kRms; };
  std::array<Tensor, 1> result;
  if (!kernels || clip > 0 || (q_norm.present() && norm_whole_rows) || !is_rms(q_norm) || !is_rms(k_norm) ||
      (q_norm.present() && !q_norm.weight.defined()) || head_dim > 512) {
    const Tensor z = (*this)(norm(x), rope, interleaved, step, kv, 0);
    return adds ? add(x, z) : z;
  }
  const int64_t tokens = x.dim(0);
  std::array<Tensor, 3> parts;
  apply_linears(norm.input_for(x.contiguous()), {&q, &k, &v}, {}, parts);
  const auto heads_of = [&](const Tensor& y, int64_t count) { return reshape(y, {tokens, count, head_dim}); };
  const Tensor query = heads_of(parts[0], heads), key = heads_of(parts[1], kv_heads),
               value = heads_of(parts[2], kv_heads);
  const Tensor z = empty(query.shape(), DType::kF32, x.device());
  kernels->attend({query, key, value}, {q_norm.weight, k_norm.weight, q_norm.eps, rope.cos, rope.sin, interleaved}, kv,
                  step.rows, options, z);
  apply_linears({reshape(z, {tokens, -1})}, {&out}, adds ? x : Tensor(), result);
  return result[0];
}

}  // namespace wick
