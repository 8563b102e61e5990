#include "models/decoder/decoder.h"

#include <algorithm>
#include <numbers>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder/decoder_step.h"
#include "models/input_embeddings.h"
#include "models/logit_hooks.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/draw_tokens.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

const std::optional<DeepRows> kNothingDeep;

}  // namespace

Tensor DecoderLayer::mix(const LinearInput& input, const Tensor& residual, const DecoderStep& step,
                         const Tensor& keep) const {
  if (!recurrent) return attend(input, residual, step, keep);
  const LinearInput normed{materialize(input)};
  Tensor y = (*recurrent)(normed.x, step.mixer_step(state_index, index));
  if (keep.defined()) y = take_rows(y, keep);
  if (kind.attention) y = add(y, attend(normed, Tensor(), step, keep));
  return residual.defined() ? add(residual, y) : y;
}

Tensor DecoderLayer::attend(const LinearInput& input, const Tensor& residual, const DecoderStep& step,
                            const Tensor& keep) const {
  const bool rotates = kind.rope >= 0;
  const auto rope = static_cast<size_t>(kind.rope);
  const RopeRows rows = rotates ? step.ropes[rope] : RopeRows();
  const bool interleaved = rotates && step.tables[rope].interleaved();
  const KvBlocks& kv = step.cache.layer(kv_index);
  if (latent) return (*latent)(input, residual, rows, interleaved, step.attention, kv, keep, index);
  if (attention_scale == 1) return attention(input, residual, rows, interleaved, step.attention, kv, keep, index);
  const Tensor y = mul(attention(input, Tensor(), rows, interleaved, step.attention, kv, keep, index), attention_scale);
  return residual.defined() ? add(residual, y) : y;
}

Tensor DecoderLayer::feed_forward(const LinearInput& input, const Tensor& residual, const DecoderStep& step) const {
  if (recurrent_mlp) {
    const Tensor y = (*recurrent_mlp)(materialize(input), step.mixer_step(mlp_state_index, index));
    return residual.defined() ? add(residual, y) : y;
  }
  return kind.sparse ? moe(input, residual, step.hooks, index) : mlp(input, residual, step.hooks, index);
}

// Experts with a norm of their own beside the MLP, without what they are added to.
Tensor DecoderLayer::mlp_and_experts(const Tensor& x, const DecoderStep& step) const {
  const Tensor dense = beside_mlp_post_norm(mlp(mlp_norm.input_for(x), {}, step.hooks, index));
  return add(dense, beside_moe_post_norm(moe(beside_norm.input_for(x), {}, step.hooks, index)));
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

Tensor DecoderLayer::show(HookPoint point, const Tensor& stream, const DecoderStep& step) const {
  if (!altup) return step.hooks(point, index, stream);
  if (!step.hooks.wants(point, index)) return stream;
  const Tensor copy = altup->active_of(stream), seen = step.hooks(point, index, copy);
  return seen.storage().get() == copy.storage().get() ? stream : altup->with_active(stream, seen);
}

Tensor DecoderLayer::layer_input(const Tensor& x, const DecoderStep& step, const Tensor& keep) const {
  return input(x, keep.defined() ? index_select(step.layer_inputs, 0, keep) : step.layer_inputs, index);
}

Tensor DecoderLayer::operator()(const Tensor& x, const DecoderStep& step, const Tensor& keep) const {
  if (recurrent_mlp && keep.defined()) return take_rows((*this)(x, step, {}), keep);  // its state has seen all rows
  const Tensor pre = show(HookPoint::kResidPre, x, step);
  if (parallel) return run_parallel(pre, keep.defined() ? take_rows(pre, keep) : pre, step, keep);
  return in_scratch([&] {
    Tensor post = altup ? run_altup(pre, step, keep) : run_halves(pre, step, keep);
    if (!altup && input.present()) post = add(post, layer_input(post, step, keep));
    if (scale.defined()) post = mul(post, scale);
    return show(HookPoint::kResidPost, post, step);
  });
}

Tensor DecoderLayer::run_halves(const Tensor& pre, const DecoderStep& step, const Tensor& keep) const {
  const Tensor kept = keep.defined() ? take_rows(pre, keep) : pre;
  if (!kind.mixes()) return run_feed_forward(kept, step);
  const Tensor mid = in_scratch([&] {
    const auto mixed = [&](const LinearInput& normed) {
      return add_to(kept, HookPoint::kAttnOut, attn_post_norm, step,
                    [&](const Tensor& residual) { return mix(normed, residual, step, keep); });
    };
    if (!laurel.present()) return mixed(attn_norm.input_for(pre));
    const Tensor normed = attn_norm(pre), own = keep.defined() ? take_rows(normed, keep) : normed;
    return mul(add(mixed({normed}), laurel(own)), 1 / std::numbers::sqrt2);
  });
  return kind.feed_forward ? run_feed_forward(step.hooks(HookPoint::kResidMid, index, mid), step) : mid;
}

Tensor DecoderLayer::run_feed_forward(const Tensor& mid, const DecoderStep& step) const {
  return in_scratch([&] {
    return add_to(mid, HookPoint::kMlpOut, mlp_post_norm, step, [&](const Tensor& residual) {
      if (!beside_norm.present()) return feed_forward(mlp_norm.input_for(mid), residual, step);
      return mlp_and_experts(mid, step);
    });
  });
}

Tensor DecoderLayer::run_altup(const Tensor& pre, const DecoderStep& step, const Tensor& keep) const {
  const Tensor predicted = altup->predict(pre);
  const Tensor output = run_halves(altup->active_of(predicted), step, keep);
  const Tensor corrected = altup->correct(keep.defined() ? index_select(predicted, 0, keep) : predicted, output);
  return altup->add_behind_first(corrected, layer_input(altup->scaled(corrected), step, keep));
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
  if (config_.names.embed.empty()) {
    check_all_given(batch);
    return place_embeddings(batch, zeros({ids.dim(0), config_.hidden}, DType::kF32, device_));
  }
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
  const AdapterPass adapters(adapted_rows(batch), static_cast<int64_t>(batch.tokens.size()),
                             static_cast<int64_t>(batch.logit_rows.size()));
  if (AdapterPass::current() || mtp_) return run_step(batch, cache);
  const auto captured = graphs_.run(batch, cache, ropes_, device_, [&](const DecodeInputs& inputs) {
    DecoderStep step(inputs, cache, ropes_);
    const Tensor x = embed(inputs.ids, batch, step);
    prepare(step, inputs.ids, x);
    return continue_from(x, step, {});
  });
  return captured ? *captured : run_step(batch, cache);
}

Tensor Decoder::run_step(const ForwardBatch& batch, const KvCache& cache) const {
  const bool wants_all = batch.logit_rows.size() == batch.tokens.size();
  if (!state_shapes_.empty()) check_states(batch);
  DecoderStep step(batch, cache, ropes_, device_);

  // Behind the last mixer only the rows with logits matter, unless somebody is looking.
  const Tensor wanted = wants_all ? Tensor() : index_tensor(batch.logit_rows, device_);
  const Tensor ids = ids_of(batch), x = embed(ids, batch, step);
  prepare(step, ids, x);
  const bool is_kept = mtp_ && std::any_of(batch.sequences.begin(), batch.sequences.end(),
                                           [](const SequenceRows& rows) { return rows.lookahead != nullptr; });
  const Tensor logits = is_kept ? continue_and_keep(x, batch, step, wanted) : continue_from(x, step, wanted);
  return step.hooks.active() ? hook_logits(batch, step.positions, logits) : logits;
}

void Decoder::prepare(DecoderStep& step, const Tensor& ids, const Tensor& x) const {
  step.attention.query_growth = query_growth(step);
  if (layer_embeddings_.present()) step.layer_inputs = layer_embeddings_(ids, x);
}

Tensor Decoder::run_layers(Tensor x, const DecoderStep& step, const Tensor& wanted) const {
  if (altup_.present()) x = altup_.expanded(x);
  for (const DecoderLayer& layer : layers_) {
    const bool last = &layer == &layers_.back();
    const auto& deep = static_cast<size_t>(layer.index) < step.deep.size() ? step.deep[static_cast<size_t>(layer.index)]
                                                                           : kNothingDeep;
    const bool keeps_wanted = last && !step.hooks.active() && !deep;
    x = layer(x, step, keeps_wanted ? wanted : Tensor());
    if (deep) x = index_add(x, 0, deep->rows, deep->values);
    if (last && deep && !step.hooks.active() && wanted.defined()) x = take_rows(x, wanted);
  }
  return altup_.present() ? altup_.joined(x) : x;
}

Tensor Decoder::continue_from(Tensor x, const DecoderStep& step, const Tensor& wanted) const {
  x = run_layers(std::move(x), step, wanted);
  if (!step.hooks.wants(HookPoint::kFinalNorm, -1)) {
    return logits(final_norm_.input_for(step.hooks.active() && wanted.defined() ? take_rows(x, wanted) : x));
  }
  x = step.hooks(HookPoint::kFinalNorm, -1, final_norm_(x));
  return logits({wanted.defined() ? take_rows(x, wanted) : x});
}

Tensor Decoder::logits(const LinearInput& input) const {
  if (config_.names.head.empty() && !config_.tied) return materialize(input);
  Tensor y = head_(input, Tensor());
  if (config_.logit_scale != 1) y = mul(y, config_.logit_scale);
  if (config_.logit_soft_cap > 0) y = mul(tanh(mul(y, 1 / config_.logit_soft_cap)), config_.logit_soft_cap);
  return y;
}

bool Decoder::only_adds() const {
  return !altup_.present() && config_.layer_input == 0 && config_.laurel_rank == 0 && !config_.layer_scale;
}

Tensor Decoder::project_to_vocab(const Tensor& rows, bool final_norm) const {
  if (altup_.present()) return LanguageModel::project_to_vocab(rows, final_norm);  // one copy of the stream says little
  return logits({final_norm ? final_norm_(rows) : rows});
}

StreamReader Decoder::stream_reader() const {
  if (!only_adds()) return LanguageModel::stream_reader();
  return {&final_norm_, &head_, config_.logit_scale, config_.logit_soft_cap};
}

StreamWriter Decoder::stream_writer(int index, HookPoint point) const {
  const DecoderLayer& layer = layers_[static_cast<size_t>(index)];
  if (point == HookPoint::kAttnOut && layer.kind.attention && !layer.kind.recurrent) {
    const Attention& attention = layer.attention;
    if (attention.sub_norm.present() || attention.gated || attention.differential) return {};
    const Linear& out = layer.latent ? layer.latent->out : layer.attention.out;
    return {&out, &layer.attn_post_norm, layer.residual_scale * layer.attention_scale, config_.heads};
  }
  const bool is_mlp = layer.kind.feed_forward && !layer.kind.sparse && !layer.recurrent_mlp;
  if (point == HookPoint::kMlpOut && is_mlp && !layer.mlp.sub_norm.present()) {
    const float scale = layer.residual_scale * layer.mlp.scale;
    return {&layer.mlp.down, layer.parallel ? nullptr : &layer.mlp_post_norm, scale, 0};
  }
  return {};
}

RecurrentState Decoder::new_state() const {
  const ArenaPause keep;
  RecurrentState state;
  state.tensors.reserve(state_shapes_.size());
  for (const Shape& shape : state_shapes_) state.tensors.push_back(zeros(shape, DType::kF32, device_));
  const std::span<const Tensor> all = state.tensors;
  for (const DecoderLayer& layer : layers_) {
    if (layer.recurrent) layer.recurrent->begin(all.subspan(layer.state_index));
    if (layer.recurrent_mlp) layer.recurrent_mlp->begin(all.subspan(layer.mlp_state_index));
  }
  return state;
}

void Decoder::check_states(const ForwardBatch& batch) const {
  const auto bad = [](const std::string& what) { return Error(ErrorCode::kInvalidArgument, cat("forward: ", what)); };
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const std::vector<Tensor>& tensors = batch.sequences[i].state->tensors;
    if (tensors.size() != state_shapes_.size()) {
      throw bad(cat("the state of sequence ", i, " has ", tensors.size(), " tensors, this ", config_.family, " has ",
                    state_shapes_.size()));
    }
    for (size_t j = 0; j < tensors.size(); ++j) {
      const Tensor& tensor = tensors[j];
      if (!tensor.defined() || tensor.dtype() != DType::kF32 || !(tensor.shape() == state_shapes_[j]) ||
          !tensor.is_contiguous()) {
        throw bad(cat("tensor ", j, " of the state of sequence ", i, " is not f32 ", state_shapes_[j]));
      }
    }
    for (size_t j = 0; j < i; ++j) {
      if (batch.sequences[j].state->tensors.back().raw() != tensors.back().raw()) continue;
      throw bad(cat("sequences ", j, " and ", i, " have the same state"));
    }
  }
}

}  // namespace wick
