#include "models/encoder_decoder/cross_decoder.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder/decoder_step.h"
#include "models/logit_hooks.h"
#include "nn/kv_blocks_for.h"
#include "nn/scratch.h"
#include "nn/sinusoids.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/layers/matmul.h"
#include "ops/layers/paged_attention.h"
#include "ops/rearrange.h"
#include "ops/softmax.h"
#include "ops/view.h"
#include "tensor/create.h"

namespace wick {
namespace {

const std::vector<RopeTable> kNoRopes;

bool is_state_dtype(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

Error bad_pass(const std::string& what) { return {ErrorCode::kInvalidArgument, cat("forward: ", what)}; }

PagedRows one_sequence(int64_t rows, int64_t position, int64_t blocks, Device device) {
  std::vector<int32_t> table;
  for (int64_t block = 0; block < blocks; ++block) table.push_back(static_cast<int32_t>(block));
  return {from_vector(std::vector<int32_t>{0, static_cast<int32_t>(rows)}, {2}).to_device(device),
          from_vector(std::vector<int32_t>{static_cast<int32_t>(position)}, {1}).to_device(device),
          from_vector(table, {1, blocks}).to_device(device)};
}

}  // namespace

void set_bart_names(CrossDecoderNames& names) {
  names.attn_norm = "self_attn_layer_norm";
  names.q = "self_attn.q_proj";
  names.k = "self_attn.k_proj";
  names.v = "self_attn.v_proj";
  names.out = "self_attn.out_proj";
  names.cross_norm = "encoder_attn_layer_norm";
  names.cross_q = "encoder_attn.q_proj";
  names.cross_k = "encoder_attn.k_proj";
  names.cross_v = "encoder_attn.v_proj";
  names.cross_out = "encoder_attn.out_proj";
  names.mlp_norm = "final_layer_norm";
  names.up = "fc1";
  names.down = "fc2";
}

CrossDecoder::CrossDecoder(CrossDecoderConfig config, WeightLoader& loader, const ModelOptions& options)
    : config_(std::move(config)), device_(options.device) {
  const ArenaPause keep;
  const CrossDecoderNames& names = config_.names;
  const int64_t width = config_.width, most = config_.positions;
  facts_.family = config_.family;
  facts_.layers = config_.layers;
  facts_.hidden = width;
  facts_.vocabulary = config_.vocabulary;
  facts_.heads = config_.heads;
  facts_.max_context = options.context > 0 ? options.context : most;
  if (most > 0 && facts_.max_context > most) {
    throw Error(ErrorCode::kInvalidArgument, cat("a context of ", facts_.max_context, " is asked for, but this ",
                                                 config_.family, " knows ", most, " positions"));
  }
  facts_.kv_layers.assign(static_cast<size_t>(config_.layers), {config_.heads, config_.head_dim, config_.head_dim});
  facts_.recurrent = true;
  const auto norm = [&](const std::string& name) {
    return name.empty() ? Norm() : loader.norm(name, config_.norm, width, config_.eps, true, config_.biases, 0);
  };
  embedding_ = loader.table(names.tokens, config_.vocabulary, width);
  if (config_.learns_positions) {
    positions_ = loader.vector(names.positions + ".weight", {most + config_.first_position, width});
  } else if (config_.sinusoid_spread > 0) {
    positions_ = sinusoids(most + config_.first_position, width, config_.sinusoid_spread).to_device(device_);
  }
  embedding_norm_ = norm(names.embedding_norm);
  for (int64_t i = 0; i < config_.layers; ++i) layers_.push_back(load_layer(i, loader));
  final_norm_ = norm(names.final_norm);
  head_ = names.head.empty() ? Linear{embedding_, {}, {}} : loader.linear(names.head, config_.vocabulary, width, false);
  if (!names.logit_bias.empty()) logit_bias_ = loader.vector(names.logit_bias, {1, config_.vocabulary});
  facts_.parameters = loader.parameters();
  facts_.weight_bytes = loader.bytes();
}

float CrossDecoder::score_scale() const {
  return config_.scales ? 1 / std::sqrt(static_cast<float>(config_.head_dim)) : 1.f;
}

CrossDecoder::Layer CrossDecoder::load_layer(int64_t index, WeightLoader& loader) const {
  const CrossDecoderNames& names = config_.names;
  const int64_t width = config_.width, inner = config_.heads * config_.head_dim;
  const std::string prefix = cat(names.layers, index, ".");
  const auto norm = [&](const std::string& name) {
    return loader.norm(prefix + name, config_.norm, width, config_.eps, true, config_.biases, 0);
  };
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs, bool bias = true) {
    return loader.linear(prefix + name, outputs, inputs, config_.biases && bias);
  };
  Layer layer;
  layer.attn_norm = norm(names.attn_norm);
  Attention& attention = layer.attention;
  attention.q = linear(names.q, inner, width);
  attention.k = linear(names.k, inner, width, config_.key_bias);
  attention.v = linear(names.v, inner, width);
  attention.out = linear(names.out, width, inner);
  attention.heads = attention.kv_heads = config_.heads;
  attention.head_dim = config_.head_dim;
  attention.options.scale = score_scale();
  if (config_.relative_buckets > 0 && (index == 0 || config_.own_relative)) {
    const Tensor table =
        loader.vector(cat(prefix, names.relative, ".weight"), {config_.relative_buckets, config_.heads});
    if (table.defined()) {
      attention.options.distance_bias =
          RelativeBias{table, config_.relative_distance, false}.by_distance().to_device(device_);
    }
  } else if (config_.relative_buckets > 0) {
    attention.options.distance_bias = layers_.front().attention.options.distance_bias;
  }
  layer.cross_norm = norm(names.cross_norm);
  layer.cross.q = linear(names.cross_q, inner, width);
  layer.cross.k = linear(names.cross_k, inner, width, config_.key_bias);
  layer.cross.v = linear(names.cross_v, inner, width);
  layer.cross.out = linear(names.cross_out, width, inner);
  layer.mlp_norm = norm(names.mlp_norm);
  layer.mlp.activation = config_.activation;
  if (!names.gate.empty()) layer.mlp.gate = linear(names.gate, config_.intermediate, width);
  layer.mlp.up = linear(names.up, config_.intermediate, width);
  layer.mlp.down = linear(names.down, width, config_.intermediate);
  return layer;
}

RecurrentState CrossDecoder::state_for(const Tensor& encoded, DType dtype) const {
  const bool fits = encoded.defined() && encoded.rank() == 2 && encoded.dim(0) > 0 && encoded.dim(1) == config_.width &&
                    (config_.source_positions == 0 || encoded.dim(0) == config_.source_positions);
  if (!fits) {
    const std::string rows = config_.source_positions > 0 ? cat(config_.source_positions) : "rows";
    throw Error(ErrorCode::kInvalidArgument,
                cat("the encoder's output is ", encoded.defined() ? cat(encoded.shape()) : std::string("undefined"),
                    ", expected [", rows, ", ", config_.width, "]"));
  }
  if (!is_state_dtype(dtype)) {
    throw Error(ErrorCode::kInvalidArgument, cat("a state in ", dtype, " is asked for, expected f32, f16 or bf16"));
  }
  const ArenaPause keep;
  const int64_t rows = encoded.dim(0), count = kv_blocks_for(rows);
  const PagedRows stored = one_sequence(rows, 0, count, device_), seen = one_sequence(1, rows - 1, count, device_);
  RecurrentState state;
  for (const Layer& layer : layers_) {
    const auto split = [&](const Tensor& x) { return reshape(x, {rows, config_.heads, -1}); };
    // Blocks are read whole: what lies behind the last position must be numbers.
    const KvBlocks blocks{zeros({count, config_.heads, config_.head_dim, kKvBlockTokens}, dtype, device_),
                          zeros({count, config_.heads, kKvBlockTokens, config_.head_dim}, dtype, device_),
                          {},
                          {}};
    store_kv(split(layer.cross.k(encoded)), split(layer.cross.v(encoded)), stored, blocks);
    state.tensors.push_back(blocks.key);
    state.tensors.push_back(blocks.value);
  }
  for (const Tensor& part : {seen.row_starts, seen.positions, seen.block_table}) state.tensors.push_back(part);
  return state;
}

void CrossDecoder::check_states(const ForwardBatch& batch) const {
  for (size_t i = 0; i < batch.sequences.size(); ++i) {
    const std::vector<Tensor>& tensors = batch.sequences[i].state->tensors;
    const size_t keys_and_values = 2 * layers_.size();
    if (tensors.size() != keys_and_values + 3) {
      throw bad_pass(
          cat("the state of sequence ", i, " has ", tensors.size(), " tensors, expected ", keys_and_values + 3));
    }
    const int64_t blocks = tensors[0].rank() == 4 ? tensors[0].dim(0) : 0;
    const Shape keys{blocks, config_.heads, config_.head_dim, kKvBlockTokens};
    const Shape values{blocks, config_.heads, kKvBlockTokens, config_.head_dim};
    const Shape places[] = {{2}, {1}, {1, blocks}};
    for (size_t t = 0; t < tensors.size(); ++t) {
      const Tensor& tensor = tensors[t];
      const bool is_place = t >= keys_and_values;
      const Shape& expected = is_place ? places[t - keys_and_values] : t % 2 == 0 ? keys : values;
      const DType dtype = is_place ? DType::kI32 : tensors[0].dtype();
      if (tensor.shape() == expected && tensor.dtype() == dtype && (is_place || is_state_dtype(dtype))) continue;
      throw bad_pass(cat("the state of sequence ", i, " is ", tensor.dtype(), " ", tensor.shape(), ", expected ", dtype,
                         " ", expected));
    }
  }
}

// Rows that look at one state are one row of a model with so many times the heads: all see the same keys.
Tensor CrossDecoder::attend_to_state(const Tensor& query, const RecurrentState& state, size_t layer) const {
  const int64_t rows = query.dim(0), heads = config_.heads, head_dim = config_.head_dim;
  const auto turn = [&](const Tensor& x, int64_t from, int64_t to) {  // [from, to, head_dim] -> [to, from, head_dim]
    return rows == 1 ? x : transpose(reshape(x, {from, to, head_dim}), 0, 1).contiguous();
  };
  PagedAttentionOptions options;
  options.scale = score_scale();
  const std::vector<Tensor>& tensors = state.tensors;
  const KvBlocks blocks{tensors[2 * layer], tensors[2 * layer + 1], {}, {}};
  const size_t places = 2 * layers_.size();
  const PagedRows seen{tensors[places], tensors[places + 1], tensors[places + 2]};
  const Tensor asked = reshape(turn(query, rows, heads), {1, heads * rows, head_dim});
  return reshape(turn(paged_attention(asked, blocks, seen, options), heads, rows), {rows, heads * head_dim});
}

Tensor CrossDecoder::cross_attend(const Tensor& query, const ForwardBatch& batch, size_t layer) const {
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

Tensor CrossDecoder::embed(const ForwardBatch& batch, const DecoderStep& step) const {
  const Tensor ids = from_vector(batch.tokens, {static_cast<int64_t>(batch.tokens.size())}).to_device(device_);
  Tensor x = embedding(ids, embedding_).to_dtype(DType::kF32);
  if (config_.embedding_scale != 1) x = mul(x, config_.embedding_scale);
  x = step.hooks(HookPoint::kEmbed, -1, x);
  if (positions_.defined()) {
    std::vector<int64_t> places(step.positions.begin(), step.positions.end());
    for (int64_t& place : places) place += config_.first_position;
    x = add(x, embedding(index_tensor(places, device_), positions_));
  }
  return embedding_norm_(x);
}

Tensor CrossDecoder::run_layers(const ForwardBatch& batch, const DecoderStep& step,
                                std::vector<Tensor>* queries) const {
  const BatchHooks& hook = step.hooks;
  Tensor x = embed(batch, step);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const int index = static_cast<int>(i);
    const auto normed = [&](const Norm& norm, const Tensor& in) { return config_.norms_sums ? in : norm(in); };
    const auto sum = [&](const Norm& norm, const Tensor& part) {
      return config_.norms_sums ? norm(add(x, part)) : add(x, part);
    };
    x = hook(HookPoint::kResidPre, index, x);
    x = in_scratch([&] {
      const Tensor attended =
          layer.attention({normed(layer.attn_norm, x)}, {}, {}, false, step.attention, step.cache.layer(i), {}, index);
      return sum(layer.attn_norm, hook(HookPoint::kAttnOut, index, attended));
    });
    x = in_scratch([&] {
      const Tensor query = layer.cross.q(normed(layer.cross_norm, x));
      if (queries) queries->push_back(query);
      return sum(layer.cross_norm, cross_attend(query, batch, i));
    });
    x = hook(HookPoint::kResidMid, index, x);
    x = in_scratch([&] {
      const Tensor made = layer.mlp({normed(layer.mlp_norm, x)}, {}, hook, index);
      return sum(layer.mlp_norm, hook(HookPoint::kMlpOut, index, made));
    });
    x = hook(HookPoint::kResidPost, index, x);
  }
  return x;
}

Tensor CrossDecoder::run(const ForwardBatch& batch, const KvCache& cache) const {
  check_states(batch);
  const DecoderStep step(batch, cache, kNoRopes, device_);
  Tensor x = step.hooks(HookPoint::kFinalNorm, -1, final_norm_(run_layers(batch, step, nullptr)));
  if (batch.logit_rows.size() != batch.tokens.size()) x = index_select(x, 0, index_tensor(batch.logit_rows, device_));
  if (config_.logit_scale != 1) x = mul(x, config_.logit_scale);
  Tensor logits = head_(x);
  if (logit_bias_.defined()) logits = add(logits, logit_bias_);
  return step.hooks.active() ? hook_logits(batch, step.positions, logits) : logits;
}

Tensor CrossDecoder::cross_attention_weights(std::span<const int32_t> tokens, const RecurrentState& state,
                                             std::span<const Head> heads, int64_t positions) const {
  const auto rows = static_cast<int64_t>(tokens.size());
  const int64_t head_dim = config_.head_dim;
  const bool has_keys = !state.empty() && state.tensors.front().rank() == 4;
  const int64_t room = has_keys ? state.tensors.front().dim(0) * kKvBlockTokens : 0;
  const int64_t most = config_.source_positions > 0 ? config_.source_positions : room;
  if (rows < 1 || (facts_.max_context > 0 && rows > facts_.max_context) || positions < 1 || positions > most) {
    throw bad_pass(cat(rows, " tokens look at ", positions, " positions, expected up to ", facts_.max_context,
                       " at up to ", most));
  }
  for (const int32_t token : tokens) {
    if (token < 0 || token >= config_.vocabulary) throw bad_pass(cat("there is no token ", token));
  }
  for (const Head& head : heads) {
    const bool is_there = head.layer >= 0 && head.layer < config_.layers && head.head >= 0 && head.head < config_.heads;
    if (!is_there) throw bad_pass(cat("there is no head ", head.head, " of layer ", head.layer));
  }
  RecurrentState encoded = state;  // shares its tensors
  std::vector<int32_t> blocks;
  for (int64_t block = 0; block < kv_blocks_for(rows); ++block) blocks.push_back(static_cast<int32_t>(block));
  const KvCache cache(facts_.kv_layers, kv_blocks_for(rows), DType::kF32, device_);
  ForwardBatch batch;
  batch.tokens.assign(tokens.begin(), tokens.end());
  batch.sequences.push_back({rows, 0, blocks, &encoded});
  check_states(batch);
  std::vector<Tensor> queries, looks;
  run_layers(batch, DecoderStep(batch, cache, kNoRopes, device_), &queries);
  for (const Head& head : heads) {
    const Tensor query = narrow(queries[static_cast<size_t>(head.layer)], 1, head.head * head_dim, head_dim);
    // [blocks, 1, head_dim, 16] -> [head_dim, positions]
    const Tensor stored = narrow(state.tensors[static_cast<size_t>(2 * head.layer)], 1, head.head, 1);
    const Tensor keys = reshape(permute(stored, {1, 2, 0, 3}), {head_dim, -1}).to_dtype(DType::kF32);
    const Tensor scores = matmul(query, narrow(keys, 1, 0, positions));
    const Tensor look = softmax(mul(scores, double{score_scale()}), -1);
    looks.push_back(reshape(look, {1, rows, positions}));
  }
  return concat(looks, 0).to_device(Device::cpu());
}

}  // namespace wick
