#include "models/decoder.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder_step.h"
#include "models/input_embeddings.h"
#include "models/logit_hooks.h"
#include "nn/scratch.h"
#include "ops/add.h"
#include "ops/embedding.h"
#include "ops/fused_kernels.h"
#include "ops/mul.h"
#include "ops/tanh.h"
#include "tensor/create.h"

namespace wick {

Tensor DecoderLayer::mix(const Tensor& normed, const DecoderStep& step) const {
  if (kind.convolution) return convolution(normed, step.convolutions[state_index], step.hooks, index);
  const bool rotates = kind.rope >= 0;
  const auto rope = static_cast<size_t>(kind.rope);
  return attention(normed, rotates ? step.ropes[rope] : RopeRows(), rotates && step.tables[rope].interleaved(),
                   step.attention, step.cache.layer(kv_index), index);
}

Tensor DecoderLayer::feed_forward(const Tensor& normed, const DecoderStep& step) const {
  return kind.sparse ? moe(normed, step.hooks, index) : mlp(normed, step.hooks, index);
}

Tensor DecoderLayer::fused(const Tensor& x, const DecoderStep& step, const Tensor& keep) const {
  const bool rotates = kind.rope >= 0;
  const auto rope = static_cast<size_t>(kind.rope);
  const bool narrows = keep.defined();
  Tensor mid = attention.fused(attn_norm, x, !narrows, rotates ? step.ropes[rope] : RopeRows(),
                               rotates && step.tables[rope].interleaved(), step.attention, step.cache.layer(kv_index));
  if (narrows) mid = add(take_rows(x, keep), take_rows(mid, keep));
  return kind.sparse ? moe.fused(mlp_norm, mid) : mlp.fused(mlp_norm, mid);
}

Tensor DecoderLayer::operator()(const Tensor& x, const DecoderStep& step, const Tensor& keep) const {
  const BatchHooks& hook = step.hooks;
  const bool plain =
      !parallel && !kind.convolution && residual_scale == 1 && !attn_post_norm.present() && !mlp_post_norm.present();
  if (plain && !hook.active() && fused_kernels(x.device())) return fused(x, step, keep);
  const auto kept = [&](const Tensor& rows) { return keep.defined() ? take_rows(rows, keep) : rows; };
  const auto scaled = [&](const Tensor& part) { return residual_scale == 1 ? part : mul(part, residual_scale); };

  Tensor pre = hook(HookPoint::kResidPre, index, x);
  if (parallel) {
    const Tensor normed = attn_norm(pre);
    const Tensor attn_out =
        in_scratch([&] { return hook(HookPoint::kAttnOut, index, scaled(attn_post_norm(kept(mix(normed, step))))); });
    pre = kept(pre);
    return in_scratch([&] {
      const Tensor mlp_in = mlp_norm.present() ? mlp_norm(pre) : kept(normed);
      const Tensor mlp_out = hook(HookPoint::kMlpOut, index, scaled(feed_forward(mlp_in, step)));
      return hook(HookPoint::kResidPost, index, add(add(attn_out, mlp_out), pre));
    });
  }
  const Tensor mid = in_scratch([&] {
    const Tensor attn_out = hook(HookPoint::kAttnOut, index, scaled(attn_post_norm(kept(mix(attn_norm(pre), step)))));
    return hook(HookPoint::kResidMid, index, add(kept(pre), attn_out));
  });
  return in_scratch([&] {
    const Tensor mlp_out = hook(HookPoint::kMlpOut, index, scaled(mlp_post_norm(feed_forward(mlp_norm(mid), step))));
    return hook(HookPoint::kResidPost, index, add(mid, mlp_out));
  });
}

Tensor Decoder::embed(const Tensor& ids, const ForwardBatch& batch, const DecoderStep& step) const {
  Tensor x = take_rows(embedding_, ids).to_dtype(DType::kF32);  // forward() has checked them
  if (config_.embedding_scale != 1) x = mul(x, config_.embedding_scale);
  x = place_embeddings(batch, x);
  x = step.hooks(HookPoint::kEmbed, -1, x);
  if (positions_.defined()) {
    x = add(x, take_rows(positions_, step.position_ids.to_device(device_)).to_dtype(DType::kF32));
  }
  return embed_norm_(x);
}

Tensor Decoder::ids_of(const ForwardBatch& batch) const {
  const auto count = static_cast<int64_t>(batch.tokens.size());
  if (batch.drawn.defined()) {
    const Tensor ids = empty({count}, DType::kI64, device_);
    fused_kernels(device_)->place_tokens(batch.drawn, ids);
    return ids;
  }
  const Tensor ids = empty({count}, DType::kI64);
  std::copy(batch.tokens.begin(), batch.tokens.end(), ids.mutable_data<int64_t>());
  return ids.to_device(device_);
}

Tensor Decoder::run(const ForwardBatch& batch, const KvCache& cache) const {
  const auto recorded = graphs_.run(batch, cache, ropes_, device_, [&](const DecodeInputs& inputs) {
    const DecoderStep step(inputs, cache, ropes_);
    return continue_from(embed(inputs.ids, batch, step), step, {});
  });
  if (recorded) return *recorded;
  const bool wants_all = batch.logit_rows.size() == batch.tokens.size();
  size_t convolutions = 0;
  for (const LayerKind& kind : config_.kinds) convolutions += kind.convolution;
  const DecoderStep step(batch, cache, ropes_, device_, convolutions);

  // Behind the last mixer only the rows with logits matter, unless somebody is looking.
  const Tensor wanted = wants_all ? Tensor() : index_tensor(batch.logit_rows, device_);
  const Tensor x = continue_from(embed(ids_of(batch), batch, step), step, wanted);
  return step.hooks.active() ? hook_logits(batch, step.positions, x) : x;
}

Tensor Decoder::continue_from(Tensor x, const DecoderStep& step, const Tensor& wanted) const {
  for (const DecoderLayer& layer : layers_) {
    const bool last = &layer == &layers_.back();
    x = layer(x, step, last && !step.hooks.active() ? wanted : Tensor());
  }
  if (!step.hooks.active()) return logits(final_norm_.input_for(x));
  x = step.hooks(HookPoint::kFinalNorm, -1, final_norm_(x));
  return logits({wanted.defined() ? take_rows(x, wanted) : x});
}

Tensor Decoder::logits(const LinearInput& input) const {
  std::array<Tensor, 1> outs;
  apply_linears(input, {&head_}, {}, outs);
  Tensor y = outs[0];
  if (config_.logit_scale != 1) y = mul(y, config_.logit_scale);
  if (config_.logit_soft_cap > 0) y = mul(tanh(mul(y, 1 / config_.logit_soft_cap)), config_.logit_soft_cap);
  return y;
}

Tensor Decoder::project_to_vocab(const Tensor& rows, bool final_norm) const {
  return logits({final_norm ? final_norm_(rows) : rows});
}

StreamReader Decoder::stream_reader() const {
  return {&final_norm_, &head_, config_.logit_scale, config_.logit_soft_cap};
}

StreamWriter Decoder::stream_writer(int index, HookPoint point) const {
  const DecoderLayer& layer = layers_[static_cast<size_t>(index)];
  if (point == HookPoint::kAttnOut && !layer.kind.convolution) {
    return {&layer.attention.out, &layer.attn_post_norm, layer.residual_scale, layer.attention.heads};
  }
  if (point == HookPoint::kMlpOut && !layer.kind.sparse) {
    return {&layer.mlp.down, layer.parallel ? nullptr : &layer.mlp_post_norm, layer.residual_scale, 0};
  }
  return {};
}

RecurrentState Decoder::new_state() const {
  RecurrentState state;
  for (const LayerKind& kind : config_.kinds) {
    if (kind.convolution) state.tensors.push_back(zeros({config_.conv_taps - 1, config_.hidden}, DType::kF32, device_));
  }
  return state;
}

}  // namespace wick
