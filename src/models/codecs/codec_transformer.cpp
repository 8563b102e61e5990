#include "models/codecs/codec_transformer.h"

#include <algorithm>
#include <cmath>

#include "nn/kv_blocks_for.h"
#include "nn/scratch.h"
#include "ops/binary.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr int64_t kMostRows = 512;  // at a time

RopeConfig rope_config(const CodecTransformerConfig& config) {
  RopeConfig rope;
  rope.theta = config.theta;
  rope.dim = config.head_dim;
  rope.interleaved = config.interleaved;
  return rope;
}

// The blocks that positions of the window and of a piece lie in go round.
int64_t ring_blocks(int64_t window) { return kv_blocks_for(window + kMostRows) + 1; }

}  // namespace

CodecTransformer::CodecTransformer(const CodecTransformerConfig& config, WeightLoader& loader)
    : config_(config), device_(loader.device()), rope_(rope_config(config), 1) {
  const int64_t width = config.heads * config.head_dim, kv_width = config.kv_heads * config.head_dim;
  for (int64_t i = 0; i < config.layers; ++i) {
    const std::string prefix = cat(config.prefix, i, ".");
    const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs) {
      return loader.linear(prefix + name, outputs, inputs, false);
    };
    const auto norm = [&](const std::string& name) {
      return loader.norm(prefix + name, config.norm, config.hidden, config.eps, true, true, 0);
    };
    Layer layer;
    layer.attn_norm = norm(config.attn_norm);
    Attention& attention = layer.attention;
    attention.heads = config.heads;
    attention.kv_heads = config.kv_heads;
    attention.head_dim = config.head_dim;
    attention.q = linear("self_attn.q_proj", width, config.hidden);
    attention.k = linear("self_attn.k_proj", kv_width, config.hidden);
    attention.v = linear("self_attn.v_proj", kv_width, config.hidden);
    attention.out = linear(config.out, config.hidden, width);
    attention.options.scale = 1 / std::sqrt(static_cast<float>(config.head_dim));
    attention.options.window = config.window;
    layer.attn_scale = loader.vector(cat(prefix, config.attn_scale, ".scale"), {config.hidden});
    layer.mlp_norm = norm(config.mlp_norm);
    layer.mlp.activation = config.activation;
    if (config.gated) layer.mlp.gate = linear(config.gate, config.intermediate, config.hidden);
    layer.mlp.up = linear(config.up, config.intermediate, config.hidden);
    layer.mlp.down = linear(config.down, config.hidden, config.intermediate);
    layer.mlp_scale = loader.vector(cat(prefix, config.mlp_scale, ".scale"), {config.hidden});
    layers_.push_back(std::move(layer));
  }
}

CodecTransformerState CodecTransformer::new_state() const {
  const ArenaPause keep;
  const std::vector<KvShape> shapes(layers_.size(), KvShape{config_.kv_heads, config_.head_dim, config_.head_dim});
  return {KvCache(shapes, ring_blocks(config_.window), DType::kF32, device_), 0};
}

Tensor CodecTransformer::run(const Tensor& in, CodecTransformerState& state) const {
  const int64_t rows = in.dim(0), end = state.position + rows, blocks = kv_blocks_for(end);
  std::vector<int64_t> positions(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) positions[static_cast<size_t>(i)] = state.position + i;
  std::vector<int32_t> table(static_cast<size_t>(blocks));
  for (int64_t i = 0; i < blocks; ++i) table[static_cast<size_t>(i)] = static_cast<int32_t>(i % state.cache.blocks());
  const std::vector<int32_t> starts = {0, static_cast<int32_t>(rows)};
  const std::vector<int32_t> first = {static_cast<int32_t>(state.position)};
  const BatchHooks none;
  AttentionStep step;
  step.hooks = &none;
  step.rows = {from_vector(starts, {2}, device_), from_vector(first, {1}, device_),
               from_vector(table, {1, blocks}, device_)};
  const RopeRows host = rope_.rows(positions);
  const RopeRows rope{host.cos.to_device(device_), host.sin.to_device(device_)};
  Tensor x = in;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const int index = static_cast<int>(i);
    x = in_scratch([&] {
      const Tensor attended = layer.attention(layer.attn_norm.input_for(x), {}, rope, config_.interleaved, step,
                                              state.cache.layer(i), {}, index);
      const Tensor mid = add(x, mul(attended, layer.attn_scale));
      return add(mid, mul(layer.mlp(layer.mlp_norm.input_for(mid), {}, none, index), layer.mlp_scale));
    });
  }
  state.position = end;
  return x;
}

Tensor CodecTransformer::operator()(Tensor x, CodecTransformerState& state) const {
  const int64_t rows = x.dim(0);
  if (rows <= kMostRows) return rows == 0 ? x : run(x, state);
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < rows; at += kMostRows) {
    parts.push_back(run(narrow(x, 0, at, std::min(kMostRows, rows - at)), state));
  }
  return concat(parts, 0);
}

}  // namespace wick
