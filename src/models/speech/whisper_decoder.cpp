#include "models/speech/whisper_decoder.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder_step.h"
#include "models/logit_hooks.h"
#include "nn/kv_blocks_for.h"
#include "nn/scratch.h"
#include "ops/add.h"
#include "ops/concat.h"
#include "ops/embedding.h"
#include "ops/index_select.h"
#include "ops/matmul.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/paged_attention.h"
#include "ops/permute.h"
#include "ops/reshape.h"
#include "ops/softmax.h"
#include "tensor/create.h"

namespace wick {
namespace {

const std::vector<RopeTable> kNoRopes;

bool is_state_dtype(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

Error bad(const std::string& what) { return {ErrorCode::kInvalidArgument, cat("forward: ", what)}; }

PagedRows one_sequence(int64_t rows, int64_t position, int64_t blocks, Device device) {
  std::vector<int32_t> table;
  for (int64_t block = 0; block < blocks; ++block) table.push_back(static_cast<int32_t>(block));
  return {from_vector(std::vector<int32_t>{0, static_cast<int32_t>(rows)}, {2}).to_device(device),
          from_vector(std::vector<int32_t>{static_cast<int32_t>(position)}, {1}).to_device(device),
          from_vector(table, {1, blocks}).to_device(device)};
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
  const int64_t heard = config_.source_positions;
  stored_ = one_sequence(heard, 0, kv_blocks_for(heard), device_);
  seen_ = one_sequence(1, heard - 1, kv_blocks_for(heard), device_);
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

Shape WhisperDecoder::key_shape() const {
  const int64_t heads = config_.decoder_heads;
  return {kv_blocks_for(config_.source_positions), heads, config_.width / heads, kKvBlockTokens};
}
Shape WhisperDecoder::value_shape() const {
  const int64_t heads = config_.decoder_heads;
  return {kv_blocks_for(config_.source_positions), heads, kKvBlockTokens, config_.width / heads};
}

RecurrentState WhisperDecoder::state_for(const Tensor& heard, DType dtype) const {
  if (!heard.defined() || !(heard.shape() == Shape{config_.source_positions, config_.width})) {
    throw Error(ErrorCode::kInvalidArgument,
                cat("what was heard is ", heard.defined() ? cat(heard.shape()) : std::string("undefined"),
                    ", expected [", config_.source_positions, ", ", config_.width, "]"));
  }
  if (!is_state_dtype(dtype)) {
    throw Error(ErrorCode::kInvalidArgument, cat("a state in ", dtype, " is asked for, expected f32, f16 or bf16"));
  }
  const ArenaPause keep;
  RecurrentState state;
  for (const Layer& layer : layers_) {
    const auto split = [&](const Tensor& x) { return reshape(x, {x.dim(0), config_.decoder_heads, -1}); };
    // Blocks are read whole: what lies behind the last position must be numbers.
    const KvBlocks blocks{zeros(key_shape(), dtype, device_), zeros(value_shape(), dtype, device_), {}, {}};
    store_kv(split(layer.cross.k(heard)), split(layer.cross.v(heard)), stored_, blocks);
    state.tensors.push_back(blocks.key);
    state.tensors.push_back(blocks.value);
  }
  return state;
}

void WhisperDecoder::check_states(const ForwardBatch& batch) const {
  const Shape expected[] = {key_shape(), value_shape()};
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const std::vector<Tensor>& tensors = batch.sequences[i].state->tensors;
    if (tensors.size() != 2 * layers_.size()) {
      throw bad(cat("the state of sequence ", i, " has ", tensors.size(), " tensors, expected ", 2 * layers_.size()));
    }
    for (size_t t = 0; t < tensors.size(); ++t) {
      const Tensor& tensor = tensors[t];
      if (tensor.shape() == expected[t % 2] && tensor.dtype() == tensors[0].dtype() && is_state_dtype(tensor.dtype())) {
        continue;
      }
      throw bad(cat("the state of sequence ", i, " is ", tensor.dtype(), " ", tensor.shape(), ", expected ",
                    tensors[0].dtype(), " ", expected[t % 2]));
    }
  }
}

// Rows that look at one state are one row of a model with so many times the heads: all see the same keys.
Tensor WhisperDecoder::attend_to_state(const Tensor& query, const RecurrentState& state, size_t layer) const {
  const int64_t rows = query.dim(0), heads = config_.decoder_heads, head_dim = config_.width / heads;
  const auto turn = [&](const Tensor& x, int64_t from, int64_t to) {  // [from, to, head_dim] -> [to, from, head_dim]
    return rows == 1 ? x : transpose(reshape(x, {from, to, head_dim}), 0, 1).contiguous();
  };
  PagedAttentionOptions options;
  options.scale = 1 / std::sqrt(static_cast<float>(head_dim));
  const KvBlocks blocks{state.tensors[2 * layer], state.tensors[2 * layer + 1], {}, {}};
  const Tensor asked = reshape(turn(query, rows, heads), {1, heads * rows, head_dim});
  return reshape(turn(paged_attention(asked, blocks, seen_, options), heads, rows), {rows, config_.width});
}

Tensor WhisperDecoder::attend_to_heard(const Tensor& query, const ForwardBatch& batch, size_t layer) const {
  std::vector<Tensor> parts;
  int64_t row = 0;
  for (size_t i = 0; i < batch.sequences.size();) {
    const RecurrentState* state = batch.sequences[i].state;
    int64_t rows = 0;
    for (; i < batch.sequences.size() && batch.sequences[i].state == state; ++i) rows += batch.sequences[i].tokens;
    parts.push_back(attend_to_state(narrow(query, 0, row, rows), *state, layer));
    row += rows;
  }
  return layers_[layer].cross.out(parts.size() == 1 ? parts.front() : concat(parts, 0));
}

Tensor WhisperDecoder::run_layers(const ForwardBatch& batch, const DecoderStep& step,
                                  std::vector<Tensor>* queries) const {
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
      const Tensor written =
          layer.attention({layer.attn_norm(x)}, {}, {}, false, step.attention, step.cache.layer(i), {}, index);
      return add(x, hook(HookPoint::kAttnOut, index, written));
    });
    x = in_scratch([&] {
      const Tensor query = layer.cross.q(layer.cross_norm(x));
      if (queries) queries->push_back(query);
      return add(x, attend_to_heard(query, batch, i));
    });
    x = hook(HookPoint::kResidMid, index, x);
    x = in_scratch(
        [&] { return add(x, hook(HookPoint::kMlpOut, index, layer.mlp({layer.mlp_norm(x)}, {}, hook, index))); });
    x = hook(HookPoint::kResidPost, index, x);
  }
  return x;
}

Tensor WhisperDecoder::run(const ForwardBatch& batch, const KvCache& cache) const {
  check_states(batch);
  const DecoderStep step(batch, cache, kNoRopes, device_, 0);
  Tensor x = step.hooks(HookPoint::kFinalNorm, -1, final_norm_(run_layers(batch, step, nullptr)));
  if (batch.logit_rows.size() != batch.tokens.size()) x = index_select(x, 0, index_tensor(batch.logit_rows, device_));
  const Tensor logits = Linear{embedding_, {}, {}}(x);
  return step.hooks.active() ? hook_logits(batch, step.positions, logits) : logits;
}

Tensor WhisperDecoder::look_at_heard(std::span<const int32_t> tokens, const RecurrentState& state,
                                     std::span<const Head> heads, int64_t positions) const {
  const auto rows = static_cast<int64_t>(tokens.size());
  const int64_t head_dim = config_.width / config_.decoder_heads;
  if (rows < 1 || rows > facts_.max_context || positions < 1 || positions > config_.source_positions) {
    throw bad(cat(rows, " tokens look at ", positions, " positions, expected up to ", facts_.max_context, " at up to ",
                  config_.source_positions));
  }
  for (const int32_t token : tokens) {
    if (token < 0 || token >= config_.vocabulary) throw bad(cat("there is no token ", token));
  }
  for (const Head& head : heads) {
    const bool is_there =
        head.layer >= 0 && head.layer < config_.decoder_layers && head.head >= 0 && head.head < config_.decoder_heads;
    if (!is_there) throw bad(cat("there is no head ", head.head, " of layer ", head.layer));
  }
  RecurrentState heard = state;  // shares its tensors
  std::vector<int32_t> blocks;
  for (int64_t block = 0; block < kv_blocks_for(rows); ++block) blocks.push_back(static_cast<int32_t>(block));
  const KvCache cache(facts_.kv_layers, kv_blocks_for(rows), DType::kF32, device_);
  ForwardBatch batch;
  batch.tokens.assign(tokens.begin(), tokens.end());
  batch.sequences.push_back({rows, 0, blocks, &heard});
  check_states(batch);
  std::vector<Tensor> queries, looks;
  run_layers(batch, DecoderStep(batch, cache, kNoRopes, device_, 0), &queries);
  for (const Head& head : heads) {
    const Tensor query = narrow(queries[static_cast<size_t>(head.layer)], 1, head.head * head_dim, head_dim);
    // [blocks, 1, head_dim, 16] -> [head_dim, positions]
    const Tensor stored = narrow(state.tensors[static_cast<size_t>(2 * head.layer)], 1, head.head, 1);
    const Tensor keys = reshape(permute(stored, {1, 2, 0, 3}), {head_dim, -1}).to_dtype(DType::kF32);
    const Tensor scores = matmul(query, narrow(keys, 1, 0, positions));
    const Tensor look = softmax(mul(scores, 1 / std::sqrt(static_cast<double>(head_dim))), -1);
    looks.push_back(reshape(look, {1, rows, positions}));
  }
  return concat(looks, 0).to_device(Device::cpu());
}

}  // namespace wick
