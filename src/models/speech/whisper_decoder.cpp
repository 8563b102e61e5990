#include "models/speech/whisper_decoder.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder_step.h"
#include "models/logit_hooks.h"
#include "nn/scratch.h"
#include "ops/add.h"
#include "ops/cat.h"
#include "ops/embedding.h"
#include "ops/index_select.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/permute.h"
#include "ops/reshape.h"
#include "ops/scaled_dot_product_attention.h"
#include "tensor/create.h"

namespace wick {
namespace {

Error bad(const std::string& what) { return {ErrorCode::kInvalidArgument, cat("forward: ", what)}; }

Tensor split_heads(const Tensor& x, int64_t heads) {  // [rows, width] -> [1, heads, rows, head_dim]
  return transpose(reshape(x, {1, x.dim(0), heads, -1}), 1, 2);
}

}  // namespace

WhisperDecoder::WhisperDecoder(const WhisperConfig& config, WeightLoader& loader, const ModelOptions& options)
    : config_(config), device_(options.device) {
  const ArenaPause keep;
  const int64_t width = config_.width, head_dim = width / config_.decoder_heads;
  const std::string prefix = config_.prefix + "decoder.";
  facts_.family = "whisper";
  facts_.layers = config_.decoder_layers;
  facts_.hidden = width;
  facts_.vocabulary = config_.vocabulary;
  facts_.heads = config_.decoder_heads;
  facts_.max_context = options.context > 0 ? options.context : config_.target_positions;
  if (facts_.max_context > config_.target_positions) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("a context of ", facts_.max_context, " is asked for, but this whisper knows ",
                    config_.target_positions, " positions"));
  }
  facts_.kv_layers.assign(static_cast<size_t>(config_.decoder_layers), {config_.decoder_heads, head_dim, head_dim});
  facts_.recurrent = true;
  embedding_ = loader.table(prefix + "embed_tokens", config_.vocabulary, width);
  positions_ = loader.vector(prefix + "embed_positions.weight", {config_.target_positions, width});
  for (int64_t i = 0; i < config_.decoder_layers; ++i) layers_.push_back(load_layer(i, loader));
  final_norm_ = loader.norm(prefix + "layer_norm", NormKind::kLayer, width, 1e-5f, true, true, 0);
  facts_.parameters = loader.parameters();
  facts_.weight_bytes = loader.bytes();
}

WhisperDecoder::Layer WhisperDecoder::load_layer(int64_t index, WeightLoader& loader) const {
  const int64_t width = config_.width;
  const std::string prefix = cat(config_.prefix, "decoder.layers.", index, ".");
  const auto norm = [&](const char* name) {
    return loader.norm(prefix + name, NormKind::kLayer, width, 1e-5f, true, true, 0);
  };
  const auto linear = [&](const char* name, int64_t outputs, int64_t inputs, bool bias = true) {
    return loader.linear(prefix + name, outputs, inputs, bias);
  };
  Layer layer;
  layer.attn_norm = norm("self_attn_layer_norm");
  Attention& attention = layer.attention;
  attention.q = linear("self_attn.q_proj", width, width);
  attention.k = linear("self_attn.k_proj", width, width, false);
  attention.v = linear("self_attn.v_proj", width, width);
  attention.out = linear("self_attn.out_proj", width, width);
  attention.heads = attention.kv_heads = config_.decoder_heads;
  attention.head_dim = width / config_.decoder_heads;
  attention.options.scale = 1 / std::sqrt(static_cast<float>(attention.head_dim));
  layer.cross_norm = norm("encoder_attn_layer_norm");
  layer.cross.q = linear("encoder_attn.q_proj", width, width);
  layer.cross.k = linear("encoder_attn.k_proj", width, width, false);
  layer.cross.v = linear("encoder_attn.v_proj", width, width);
  layer.cross.out = linear("encoder_attn.out_proj", width, width);
  layer.mlp_norm = norm("final_layer_norm");
  layer.mlp.activation = config_.activation;
  layer.mlp.up = linear("fc1", config_.decoder_intermediate, width);
  layer.mlp.down = linear("fc2", width, config_.decoder_intermediate);
  return layer;
}

RecurrentState WhisperDecoder::state_for(const Tensor& heard) const {
  if (!heard.defined() || !(heard.shape() == Shape{config_.source_positions, config_.width})) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("what was heard is ", heard.defined() ? cat(heard.shape()) : std::string("undefined"),
                    ", expected [", config_.source_positions, ", ", config_.width, "]"));
  }
  const ArenaPause keep;
  RecurrentState state;
  for (const Layer& layer : layers_) {
    state.tensors.push_back(split_heads(layer.cross.k(heard), config_.decoder_heads).contiguous());
    state.tensors.push_back(split_heads(layer.cross.v(heard), config_.decoder_heads).contiguous());
  }
  return state;
}

void WhisperDecoder::check_states(const ForwardBatch& batch) const {
  const Shape expected{1, config_.decoder_heads, config_.source_positions, config_.width / config_.decoder_heads};
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const std::vector<Tensor>& tensors = batch.sequences[i].state->tensors;
    if (tensors.size() != 2 * layers_.size()) {
      throw bad(cat("the state of sequence ", i, " has ", tensors.size(), " tensors, expected ", 2 * layers_.size()));
    }
    for (const Tensor& tensor : tensors) {
      if (tensor.shape() == expected && tensor.dtype() == DType::kF32) continue;
      throw bad(
          cat("the state of sequence ", i, " is ", tensor.dtype(), " ", tensor.shape(), ", expected f32 ", expected));
    }
  }
}

Tensor WhisperDecoder::CrossAttention::operator()(const Tensor& x, const ForwardBatch& batch, size_t layer,
                                                  int64_t heads) const {
  const Tensor query = q(x);
  std::vector<Tensor> parts;
  int64_t row = 0;
  for (const SequenceRows& rows : batch.sequences) {
    const std::vector<Tensor>& heard = rows.state->tensors;
    const Tensor seen = scaled_dot_product_attention(split_heads(narrow(query, 0, row, rows.tokens), heads),
                                                     heard[2 * layer], heard[2 * layer + 1]);
    parts.push_back(reshape(transpose(seen, 1, 2), {rows.tokens, -1}));
    row += rows.tokens;
  }
  return out(parts.size() == 1 ? parts.front() : cat(parts, 0));
}

Tensor WhisperDecoder::run(const ForwardBatch& batch, const KvCache& cache) const {
  check_states(batch);
  static const std::vector<RopeTable> kNoRopes;
  const DecoderStep step(batch, cache, kNoRopes, device_, 0);
  const BatchHooks& hook = step.hooks;

  const Tensor ids = from_vector(batch.tokens, {static_cast<int64_t>(batch.tokens.size())}).to_device(device_);
  Tensor x = embedding(ids, embedding_).to_dtype(DType::kF32);
  if (config_.embedding_scale != 1) x = mul(x, config_.embedding_scale);
  x = add(hook(HookPoint::kEmbed, -1, x), embedding(step.position_ids.to_device(device_), positions_));
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const int index = static_cast<int>(i);
    x = hook(HookPoint::kResidPre, index, x);
    x = in_scratch([&] {
      const Tensor written = layer.attention(layer.attn_norm(x), {}, false, step.attention, step.cache.layer(i), index);
      return add(x, hook(HookPoint::kAttnOut, index, written));
    });
    x = in_scratch([&] { return add(x, layer.cross(layer.cross_norm(x), batch, i, config_.decoder_heads)); });
    x = hook(HookPoint::kResidMid, index, x);
    x = in_scratch([&] { return add(x, hook(HookPoint::kMlpOut, index, layer.mlp(layer.mlp_norm(x), hook, index))); });
    x = hook(HookPoint::kResidPost, index, x);
  }
  x = hook(HookPoint::kFinalNorm, -1, final_norm_(x));
  if (batch.logit_rows.size() != batch.tokens.size()) x = index_select(x, 0, index_tensor(batch.logit_rows, device_));
  const Tensor logits = Linear{embedding_, {}, {}}(x);
  return hook.active() ? hook_logits(batch, step.positions, logits) : logits;
}

}  // namespace wick
