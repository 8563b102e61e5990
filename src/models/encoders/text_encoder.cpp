#include "models/encoders/text_encoder.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "hooks/batch_hooks.h"
#include "models/load_parts.h"
#include "nn/scratch.h"
#include "nn/sinusoids.h"
#include "ops/binary.h"
#include "ops/index.h"
#include "ops/unary.h"
#include "ops/view.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {

TextEncoder::TextEncoder(EncoderConfig config, WeightLoader& loader, Device device)
    : config_(std::move(config)), device_(device) {
  const ArenaPause keep;
  const EncoderNames& names = config_.names;
  const auto norm = [&](const std::string& name) {
    return loader.norm(name, config_.norm, config_.hidden, config_.eps, true, config_.norm_bias, config_.norm_offset);
  };
  tokens_ = loader.table(names.tokens, config_.vocabulary, config_.hidden);
  if (config_.learns_positions) {
    positions_ = loader.table(names.positions, config_.positions + config_.first_position, config_.hidden);
  } else if (config_.sinusoid_spread > 0) {
    positions_ = sinusoids(config_.positions + config_.first_position, config_.hidden, config_.sinusoid_spread)
                     .to_device(device_);
  }
  if (!names.types.empty()) types_ = loader.table(names.types, config_.types, config_.hidden);
  if (!names.embedding_norm.empty()) embedding_norm_ = norm(names.embedding_norm);
  for (int64_t i = 0; i < config_.layers; ++i) layers_.push_back(load_layer(i, loader));
  for (const RopeConfig& rope : config_.ropes) ropes_.emplace_back(rope, config_.positions);
  if (!names.final_norm.empty()) final_norm_ = norm(names.final_norm);
  if (!names.pooler.empty()) pooler_ = loader.linear(names.pooler, config_.hidden, config_.hidden, true);
  parameters_ = loader.parameters();
  weight_bytes_ = loader.bytes();
}

EncoderLayer TextEncoder::load_layer(int64_t index, WeightLoader& loader) const {
  const EncoderNames& names = config_.names;
  const std::string prefix = cat(names.layers, index, ".");
  const int64_t hidden = config_.hidden, intermediate = config_.intermediate, inner = config_.heads * config_.head_dim;
  const int64_t shared = config_.kv_heads > 0 ? config_.kv_heads * config_.head_dim : inner;
  const auto linear = [&](const std::string& name, int64_t outputs, int64_t inputs, bool bias) {
    return loader.linear(prefix + name, outputs, inputs, bias);
  };
  const auto norm = [&](const std::string& name) {
    if (name.empty()) return Norm();
    return loader.norm(prefix + name, config_.norm, hidden, config_.eps, true, config_.norm_bias, config_.norm_offset);
  };
  EncoderLayer layer;
  layer.heads = config_.heads;
  layer.kv_heads = config_.kv_heads;
  layer.norms_sums = config_.norms_sums;
  layer.scale = config_.score_scale;
  if (config_.relative_buckets > 0 || !config_.alibi_slopes.empty()) {
    const bool has_own = index == 0 || config_.own_relative;
    layer.relative = has_own ? load_relative(prefix, loader) : layers_.front().relative;
  }
  if (!config_.windows.empty()) layer.window = config_.windows[static_cast<size_t>(index)];
  if (index > 0 || config_.first_attn_norm) layer.attn_norm = norm(names.attn_norm);
  if (names.qkv.empty()) {
    layer.q = linear(names.q, inner, hidden, config_.attention_bias);
    layer.k = linear(names.k, shared, hidden, config_.attention_bias);
    layer.v = linear(names.v, shared, hidden, config_.attention_bias);
  } else {
    const Linear all = linear(names.qkv, inner + 2 * shared, hidden, config_.attention_bias);
    layer.q = weight_rows(all, 0, inner);
    layer.k = weight_rows(all, inner, shared);
    layer.v = weight_rows(all, inner + shared, shared);
  }
  const auto head_norm = [&](const std::string& name) {
    return loader.norm(prefix + name, NormKind::kRms, config_.head_dim, config_.eps, true, false, config_.norm_offset);
  };
  if (!names.q_norm.empty()) layer.q_norm = head_norm(names.q_norm);
  if (!names.k_norm.empty()) layer.k_norm = head_norm(names.k_norm);
  layer.out = linear(names.out, hidden, inner, config_.out_bias.value_or(config_.attention_bias));
  layer.attn_post_norm = norm(names.attn_post_norm);
  layer.mlp_post_norm = norm(names.mlp_post_norm);
  layer.mlp_norm = norm(names.mlp_norm);
  layer.mlp.activation = config_.activation;
  if (!names.gate.empty()) layer.mlp.gate = linear(names.gate, intermediate, hidden, config_.mlp_bias);
  const bool up_first = !names.up_gate.empty();
  if (names.gate_up.empty() && !up_first) {
    layer.mlp.up = linear(names.up, intermediate, hidden, config_.mlp_bias);
  } else {
    const Linear both = linear(up_first ? names.up_gate : names.gate_up, 2 * intermediate, hidden, config_.mlp_bias);
    layer.mlp.gate = weight_rows(both, up_first ? intermediate : 0, intermediate);
    layer.mlp.up = weight_rows(both, up_first ? 0 : intermediate, intermediate);
  }
  layer.mlp.down = linear(names.down, hidden, intermediate, config_.down_bias.value_or(config_.mlp_bias));
  return layer;
}

std::shared_ptr<const RelativeBias> TextEncoder::load_relative(const std::string& prefix, WeightLoader& loader) const {
  if (!config_.alibi_slopes.empty()) {
    return std::make_shared<const RelativeBias>(RelativeBias{.slopes = config_.alibi_slopes});
  }
  const Tensor table =
      loader.vector(prefix + config_.names.relative + ".weight", {config_.relative_buckets, config_.heads});
  return std::make_shared<const RelativeBias>(RelativeBias{table, config_.relative_distance, true});
}

EncoderConfig with_prefix_of(EncoderConfig config, const WeightSource& source) {
  EncoderNames& names = config.names;
  const std::string wanted = names.tokens + ".weight";
  const std::vector<std::string> there = source.names();
  const auto found = std::find_if(there.begin(), there.end(), [&](const std::string& name) {
    return name == wanted || name.ends_with("." + wanted);
  });
  if (found == there.end()) return config;
  const std::string prefix = found->substr(0, found->size() - wanted.size());
  for (std::string* name : {&names.tokens, &names.positions, &names.types, &names.embedding_norm, &names.layers,
                            &names.final_norm, &names.pooler}) {
    if (!name->empty()) *name = prefix + *name;
  }
  if (!names.pooler.empty() && !source.has(names.pooler + ".weight")) names.pooler.clear();  // heads leave it out
  return config;
}

namespace {

EncoderConfig config_of(const WeightSource& source) {
  if (!source.config().is_object()) {
    throw Error(ErrorCode::kBadFile, cat(file_name(source), ": there is no config.json beside it"));
  }
  return with_prefix_of(read_encoder_config(ConfigReader(source.config())), source);
}

}  // namespace

std::unique_ptr<TextEncoder> TextEncoder::load(const WeightSource& source, const ModelOptions& options) {
  const EncoderConfig config = config_of(source);
  std::unique_ptr<TextEncoder> encoder;
  load_parts(source, options, std::span(&config.names.layers, 1),
             [&](WeightLoader& loader) { encoder = std::make_unique<TextEncoder>(config, loader, options.device); });
  return encoder;
}

ModelPlan TextEncoder::plan(const WeightSource& source, const ModelOptions& options) {
  const EncoderConfig config = config_of(source);
  ModelPlan plan;
  plan.family = config.family;
  plan.preflight = preflight_parts(source, std::span(&config.names.layers, 1),
                                   [&](WeightLoader& loader) { TextEncoder(config, loader, options.device); });
  return plan;
}

void TextEncoder::check(std::span<const EncoderText> texts) const {
  for (size_t i = 0; i < texts.size(); ++i) {
    const EncoderText& text = texts[i];
    const auto wrong = [&](const std::string& what) {
      return Error(ErrorCode::kInvalidArgument, texts.size() == 1 ? what : cat("text ", i, ": ", what));
    };
    if (text.tokens.empty()) throw wrong("there are no tokens in it");
    if (std::ssize(text.tokens) > config_.positions) {
      throw wrong(cat("it has ", text.tokens.size(), " tokens, the model takes ", config_.positions));
    }
    if (!text.types.empty() && text.types.size() != text.tokens.size()) {
      throw wrong(cat("it has ", text.tokens.size(), " tokens and ", text.types.size(), " types"));
    }
    for (const int32_t token : text.tokens) {
      if (token < 0 || token >= config_.vocabulary) {
        throw wrong(cat("token ", token, " is not one of the ", config_.vocabulary, " there are"));
      }
    }
    for (const int32_t type : text.types) {
      if (type < 0 || type >= std::max<int64_t>(config_.types, 1)) {
        throw wrong(cat("type ", type, " is not one of the ", std::max<int64_t>(config_.types, 1), " there are"));
      }
    }
  }
}

Tensor TextEncoder::embed(std::span<const EncoderText> texts, std::span<const int64_t> positions) const {
  std::vector<int64_t> tokens, types;
  for (const EncoderText& text : texts) {
    tokens.insert(tokens.end(), text.tokens.begin(), text.tokens.end());
    types.insert(types.end(), text.types.begin(), text.types.end());
    types.resize(tokens.size());
  }
  const auto rows = std::ssize(tokens);
  const auto look_up = [&](const Tensor& table, const std::vector<int64_t>& index) {
    return take_rows(table, from_vector(index, {rows}).to_device(device_)).to_dtype(DType::kF32);
  };
  Tensor x = look_up(tokens_, tokens);
  if (config_.embedding_scale != 1) x = mul(x, config_.embedding_scale);
  if (types_.defined()) x = add(x, look_up(types_, types));
  if (positions_.defined()) {
    std::vector<int64_t> places(positions.begin(), positions.end());
    for (int64_t& place : places) place += config_.first_position;
    x = add(x, look_up(positions_, places));
  }
  return embedding_norm_(x);
}

Tensor TextEncoder::encode(std::span<const EncoderText> texts, const std::function<void()>& between) const {
  check(texts);
  Arena arena;
  Tensor encoded;
  {
    const ArenaScope scope(arena);
    std::vector<int64_t> lengths, positions;
    for (const EncoderText& text : texts) {
      lengths.push_back(std::ssize(text.tokens));
      for (int64_t i = 0; i < lengths.back(); ++i) positions.push_back(i);
    }
    BatchHooks hooks;
    int64_t row = 0;
    for (size_t i = 0; i < texts.size(); row += lengths[i++]) {
      const auto rows = std::span(positions).subspan(static_cast<size_t>(row), static_cast<size_t>(lengths[i]));
      hooks.add(row, rows, texts[i].hooks);
    }
    EncoderStep step(lengths, &hooks);
    Tensor x = in_scratch([&] { return embed(texts, positions); });
    for (size_t i = 0; i < layers_.size(); ++i) {
      const bool turns = !ropes_.empty();
      RopeRows rope = turns ? ropes_[i].rows(positions) : RopeRows();
      if (turns) rope = {rope.cos.to_device(device_), rope.sin.to_device(device_)};
      x = layers_[i](x, step, rope, turns && ropes_[i].interleaved(), static_cast<int>(i));
      if (between) between();
    }
    const ArenaPause keep;
    encoded = hooks(HookPoint::kFinalNorm, 0, final_norm_.present() ? final_norm_(x) : x.clone());
  }
  return encoded;
}

Tensor TextEncoder::final_norm(const Tensor& rows) const {
  return final_norm_.present() ? final_norm_(rows.to_device(device_)).to_device(Device::cpu()) : rows;
}

Tensor TextEncoder::pool(const Tensor& first_rows) const {
  if (!has_pooler()) throw Error(ErrorCode::kInvalidArgument, cat("this ", config_.family, " has no pooler"));
  return tanh(pooler_(first_rows.to_device(device_))).to_device(Device::cpu());
}

}  // namespace wick
