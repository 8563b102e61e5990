#include "models/vision/text_tower.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "models/read_count.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// Files of the first CLIP name another end than their tokenizer has: the largest token is meant.
constexpr int64_t kOldEnd = 2;

}  // namespace

TextTowerConfig read_text_tower_config(const ConfigReader& config, std::string_view family) {
  TextTowerConfig text;
  text.causal = family == "clip";
  text.width = read_count(config, "hidden_size");
  text.layers = read_count(config, "num_hidden_layers", 4096);
  text.heads = read_count(config, "num_attention_heads");
  text.intermediate = read_count(config, "intermediate_size");
  text.vocabulary = read_count(config, "vocab_size", 1 << 24);
  text.positions = read_count(config, "max_position_embeddings", 1 << 20);
  text.eps = static_cast<float>(config.number("layer_norm_eps", text.causal ? 1e-5 : 1e-6));
  text.activation = activation_named(config.text("hidden_act", text.causal ? "quick_gelu" : "gelu_pytorch_tanh"));
  if (text.width % text.heads != 0) {
    throw bad_setting(cat("hidden_size = ", text.width, " does not divide by num_attention_heads = ", text.heads));
  }
  if (text.causal) {
    const int64_t end = config.integer("eos_token_id", 49407);
    text.end_token = end == kOldEnd ? text.vocabulary - 1 : end;
  }
  return text;
}

TextTower::TextTower(TextTowerConfig config, WeightLoader& loader)
    : config_(std::move(config)), device_(loader.device()) {
  const ArenaPause keep;
  const std::string& stem = config_.stem;
  const int64_t width = config_.width, intermediate = config_.intermediate;
  const auto norm = [&](const std::string& name) {
    return loader.norm(name, NormKind::kLayer, width, config_.eps, true, true, 0);
  };
  tokens_ = loader.table(stem + "embeddings.token_embedding", config_.vocabulary, width);
  positions_ = loader.table(stem + "embeddings.position_embedding", config_.positions, width);
  for (int64_t i = 0; i < config_.layers; ++i) {
    const std::string prefix = cat(stem, "encoder.layers.", i, ".");
    EncoderLayer layer;
    layer.heads = config_.heads;
    layer.causal = config_.causal;
    layer.attn_norm = norm(prefix + "layer_norm1");
    layer.q = loader.linear(prefix + "self_attn.q_proj", width, width, true);
    layer.k = loader.linear(prefix + "self_attn.k_proj", width, width, true);
    layer.v = loader.linear(prefix + "self_attn.v_proj", width, width, true);
    layer.out = loader.linear(prefix + "self_attn.out_proj", width, width, true);
    layer.mlp_norm = norm(prefix + "layer_norm2");
    layer.mlp.activation = config_.activation;
    layer.mlp.up = loader.linear(prefix + "mlp.fc1", intermediate, width, true);
    layer.mlp.down = loader.linear(prefix + "mlp.fc2", width, intermediate, true);
    layers_.push_back(std::move(layer));
  }
  final_norm_ = norm(stem + "final_layer_norm");
}

int64_t TextTower::end_of(const std::vector<int32_t>& text) const {
  if (config_.end_token < 0) return std::ssize(text) - 1;
  const auto found = std::find(text.begin(), text.end(), config_.end_token);
  if (found == text.end()) {
    throw Error(ErrorCode::kInvalidArgument, cat("a text does not hold the token that ends it, ", config_.end_token));
  }
  return found - text.begin();
}

Tensor TextTower::encode(std::span<const std::vector<int32_t>> texts) const {
  std::vector<int64_t> tokens, positions, lengths, ends;
  for (const std::vector<int32_t>& text : texts) {
    if (text.empty() || std::ssize(text) > config_.positions) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat("a text has ", text.size(), " tokens, the model takes 1 to ", config_.positions));
    }
    ends.push_back(std::ssize(tokens) + end_of(text));
    lengths.push_back(std::ssize(text));
    for (const int32_t token : text) {
      if (token < 0 || token >= config_.vocabulary) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat("token ", token, " is not one of the ", config_.vocabulary, " there are"));
      }
      positions.push_back(std::ssize(tokens) - (ends.back() - end_of(text)));
      tokens.push_back(token);
    }
  }
  if (texts.empty()) throw Error(ErrorCode::kInvalidArgument, "there are no texts");
  Arena arena;
  const ArenaScope scope(arena);
  const auto look_up = [&](const Tensor& table, const std::vector<int64_t>& index) {
    return take_rows(table, from_vector(index, {std::ssize(index)}).to_device(device_)).to_dtype(DType::kF32);
  };
  Tensor x = add(look_up(tokens_, tokens), look_up(positions_, positions));
  EncoderStep step(lengths);
  for (size_t i = 0; i < layers_.size(); ++i) x = layers_[i](x, step, {}, false, static_cast<int>(i));
  const Tensor pooled = final_norm_(take_rows(x, from_vector(ends, {std::ssize(ends)}).to_device(device_)));
  const ArenaPause keep;
  return pooled.clone();
}

}  // namespace wick
