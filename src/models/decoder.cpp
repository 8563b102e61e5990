#include "models/decoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder_step.h"
#include "models/input_embeddings.h"
#include "models/logit_hooks.h"
#include "nn/scratch.h"
#include "ops/add.h"
#include "ops/draw_tokens.h"
#include "ops/embedding.h"
#include "ops/mul.h"
#include "ops/reshape.h"
#include "ops/tanh.h"
#include "tensor/create.h"

namespace wick {

Tensor DecoderLayer::mix(const LinearInput& input, const Tensor& residual, const DecoderStep& step,
                         const Tensor& keep) const {
  if (kind.convolution) {
    const Tensor y = convolution(materialize(input), step.convolutions[state_index], step.hooks, index);
    const Tensor kept = keep.defined() ? take_rows(y, keep) : y;
    return residual.defined() ? add(residual, kept) : kept;
  }
  const bool rotates = kind.rope >= 0;
  const auto rope = static_cast<size_t>(kind.rope);
  const RopeRows rows = rotates ? step.ropes[rope] : RopeRows();
  const bool interleaved = rotates && step.tables[rope].interleaved();
  const KvBlocks& kv = step.cache.layer(kv_index);
  if (latent) return (*latent)(input, residual, rows, interleaved, step.attention, kv, keep, index);
  return attention(input, residual, rows, interleaved, step.attention, kv, keep, index);
}

Tensor DecoderLayer::feed_forward(const LinearInput& input, const Tensor& residual, const DecoderStep& step) const {
  return kind.sparse ? moe(input, residual, step.hooks, index) : mlp(input, residual, step.hooks, index);
}

// What one half of a layer adds to `stream`. Where nothing stands between, its last product adds it itself.
template <typename Part>
Tensor DecoderLayer::add_to(const Tensor& stream, HookPoint point, const Norm& post_norm, const DecoderStep& step,
                            const Part& part) const {
  if (residual_scale == 1 && !post_norm.present() && !step.hooks.wants(point, index)) return part(stream);
  Tensor y = post_norm(part(Tensor()));
  if (residual_scale != 1) y = mul(y, residual_scale);
  return add(stream, step.hooks(point, index, y));
}

Tensor DecoderLayer::operator()(const Tensor& x, const DecoderStep& step, const Tensor& keep) const {
  const BatchHooks& hook = step.hooks;
  const Tensor pre = hook(HookPoint::kResidPre, index, x);
  const Tensor kept = keep.defined() ? take_rows(pre, keep) : pre;
  if (parallel) return run_parallel(pre, kept, step, keep);
  const Tensor mid = in_scratch([&] {
    return hook(HookPoint::kResidMid, index,
                add_to(kept, HookPoint::kAttnOut, attn_post_norm, step,
                       [&](const Tensor& residual) { return mix(attn_norm.input_for(pre), residual, step, keep); }));
  });
  return in_scratch([&] {
    return hook(HookPoint::kResidPost, index,
                add_to(mid, HookPoint::kMlpOut, mlp_post_norm, step,
                       [&](const Tensor& residual) { return feed_forward(mlp_norm.input_for(mid), residual, step); }));
  });
}

Tensor DecoderLayer::run_parallel(const Tensor& pre, const Tensor& kept, const DecoderStep& step,
                                  const Tensor& keep) const {
  const BatchHooks& hook = step.hooks;
  const auto scaled = [&](const Tensor& part) { return residual_scale == 1 ? part : mul(part, residual_scale); };
  const LinearInput normed = attn_norm.input_for(pre);
  const Tensor attn_out = in_scratch(
      [&] { return hook(HookPoint::kAttnOut, index, scaled(attn_post_norm(mix(normed, Tensor(), step, keep)))); });
  return in_scratch([&] {
    const bool shares_norm = !mlp_norm.present() && !keep.defined();
    const LinearInput input = shares_norm ? normed : (mlp_norm.present() ? mlp_norm : attn_norm).input_for(kept);
    const Tensor both = add_to(attn_out, HookPoint::kMlpOut, Norm(), step,
                               [&](const Tensor& residual) { return feed_forward(input, residual, step); });
    return hook(HookPoint::kResidPost, index, add(both, kept));
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

Tensor Decoder::query_growth(const DecoderStep& step) const {
  if (!query_growth_.defined()) return {};
  return reshape(take_rows(query_growth_, step.position_ids.to_device(device_)), {step.position_ids.dim(0), 1, 1});
}

Tensor Decoder::ids_of(const ForwardBatch& batch) const {
  const auto count = static_cast<int64_t>(batch.tokens.size());
  if (batch.drawn.defined()) {
    const Tensor ids = empty({count}, DType::kI64, device_);
    place_tokens(batch.drawn, ids);
    return ids;
  }
  const Tensor ids = empty({count}, DType::kI64);
  std::copy(batch.tokens.begin(), batch.tokens.end(), ids.mutable_data<int64_t>());
  return ids.to_device(device_);
}

Tensor Decoder::run(const ForwardBatch& batch, const KvCache& cache) const {
  const auto recorded = graphs_.run(batch, cache, ropes_, device_, [&](const DecodeInputs& inputs) {
    DecoderStep step(inputs, cache, ropes_);
    step.attention.query_growth = query_growth(step);
    return continue_from(embed(inputs.ids, batch, step), step, {});
  });
  if (recorded) return *recorded;
  const bool wants_all = batch.logit_rows.size() == batch.tokens.size();
  size_t convolutions = 0;
  for (const LayerKind& kind : config_.kinds) convolutions += kind.convolution;
  DecoderStep step(batch, cache, ropes_, device_, convolutions);
  step.attention.query_growth = query_growth(step);

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
  if (!step.hooks.wants(HookPoint::kFinalNorm, -1)) {
    return logits(final_norm_.input_for(step.hooks.active() && wanted.defined() ? take_rows(x, wanted) : x));
  }
  x = step.hooks(HookPoint::kFinalNorm, -1, final_norm_(x));
  return logits({wanted.defined() ? take_rows(x, wanted) : x});
}

Tensor Decoder::logits(const LinearInput& input) const {
  Tensor y = head_(input, Tensor());
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
    if (layer.attention.sub_norm.present()) return {};
    const Linear& out = layer.latent ? layer.latent->out : layer.attention.out;
    return {&out, &layer.attn_post_norm, layer.residual_scale, config_.heads};
  }
  if (point == HookPoint::kMlpOut && !layer.kind.sparse && !layer.mlp.sub_norm.present()) {
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
