#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder.h"
#include "ops/draw_tokens.h"
#include "ops/narrow.h"
#include "ops/quantize.h"
#include "ops/reshape.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

// f32 [positions, 1], by position.
Tensor growth_table(const QueryGrowth& growth, int64_t positions, Device device) {
  std::vector<float> factors;
  for (int64_t i = 0; i < positions; ++i) {
    const double periods = std::floor(static_cast<double>(i + growth.offset) / growth.period);
    factors.push_back(static_cast<float>(1 + growth.factor * std::log1p(periods)));
  }
  return from_vector(factors, {positions, 1}).to_device(device);
}

// Longrope has one set of angles for texts up to the trained length and another for longer ones: longer contexts are
// used when asked for.
int64_t default_context(const DecoderConfig& config) {
  for (const RopeConfig& rope : config.ropes) {
    const bool differs = rope.kind == RopeKind::kLongRope && rope.long_factor != rope.short_factor;
    if (differs) return std::min(config.max_positions, rope.original_positions);
  }
  return config.max_positions;
}

class LayerLoader {
 public:
  LayerLoader(const DecoderConfig& config, WeightLoader& loader, int index, Device device)
      : config_(config),
        names_(config.names),
        loader_(loader),
        prefix_(cat(config.names.layers, index, ".")),
        device_(device) {}

  Norm norm(const std::string& name) {
    if (name.empty()) return {};
    return loader_.norm(prefix_ + name, config_.norm, config_.hidden, config_.norm_eps, config_.norm_weights,
                        config_.norm_bias, config_.norm_offset);
  }

  // Of `size` values between two projections.
  Norm sub_norm(const std::string& name, int64_t size) {
    if (name.empty()) return {};
    return loader_.norm(prefix_ + name, config_.norm, size, config_.norm_eps, true, config_.norm_bias, 0);
  }

  Linear linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias, bool transposed = false) {
    return loader_.linear(prefix_ + name, outputs, inputs, bias, transposed);
  }

  Attention attention(const LayerKind& kind) {
    Attention attention;
    attention.heads = config_.heads;
    attention.kv_heads = config_.kv_heads;
    attention.head_dim = config_.head_dim;
    const int64_t width = config_.heads * config_.head_dim, kv_width = config_.kv_heads * config_.head_dim;
    attention.q = linear(names_.q, width, config_.hidden, config_.attention_bias);
    attention.k = linear(names_.k, kv_width, config_.hidden, config_.attention_bias);
    attention.v = linear(names_.v, kv_width, config_.hidden, config_.attention_bias);
    attention.out = linear(names_.o, config_.hidden, width, config_.output_bias, config_.transposed);
    if (config_.qk_norm != QkNorm::kNone) {
      const bool whole = attention.norm_whole_rows = config_.qk_norm == QkNorm::kWholeRow;
      const auto qk_norm = [&](const std::string& name, int64_t row) {
        return loader_.norm(prefix_ + name, config_.qk_norm_kind, whole ? row : config_.head_dim, config_.norm_eps,
                            !name.empty(), config_.norm_bias, config_.norm_offset);
      };
      attention.norm_after_rope = config_.qk_norm_after_rope;
      attention.q_norm = qk_norm(names_.q_norm, width);
      attention.k_norm = qk_norm(names_.k_norm, kv_width);
    }
    attention.clip = config_.clip_qkv;
    attention.grows = kind.query_growth;
    attention.sub_norm = sub_norm(names_.attn_sub_norm, width);
    PagedAttentionOptions& options = attention.options;
    options.scale = config_.attention_scale.value_or(1 / std::sqrt(static_cast<float>(config_.head_dim)));
    options.soft_cap = config_.attention_soft_cap;
    options.window = kind.window;
    if (config_.sinks) options.sinks = loader_.vector(prefix_ + names_.sinks, {config_.heads});
    if (!config_.alibi_slopes.empty()) {
      options.alibi_slopes = from_vector(config_.alibi_slopes, {config_.heads}).to_device(device_);
    }
    return attention;
  }

  LatentAttention latent() {
    const LatentConfig& sizes = *config_.latent;
    const int64_t heads = config_.heads, hidden = config_.hidden, per_head = sizes.plain + sizes.rotated;
    const auto norm = [&](const std::string& name, int64_t size) {
      return loader_.norm(cat(prefix_, "self_attn.", name), config_.norm, size, config_.norm_eps, true, false, 0);
    };
    LatentAttention latent;
    latent.heads = heads;
    latent.plain = sizes.plain;
    latent.rotated = sizes.rotated;
    latent.rank = sizes.rank;
    if (sizes.q_rank > 0) {
      latent.q_down = linear("self_attn.q_a_proj", sizes.q_rank, hidden, config_.attention_bias);
      latent.q_norm = norm("q_a_layernorm", sizes.q_rank);
      latent.q_up = linear("self_attn.q_b_proj", heads * per_head, sizes.q_rank, false);
    } else {
      latent.q_up = linear("self_attn.q_proj", heads * per_head, hidden, false);
    }
    latent.kv_down = linear("self_attn.kv_a_proj_with_mqa", sizes.rank + sizes.rotated, hidden, config_.attention_bias);
    latent.kv_norm = norm("kv_a_layernorm", sizes.rank);
    const Linear up = linear("self_attn.kv_b_proj", heads * (sizes.plain + sizes.value_dim), sizes.rank, false);
    if (up.defined()) {
      // Keys and values of a head lie together, and are multiplied from either side: packed ones are opened.
      const Tensor weight = is_packed(up.weight.dtype()) ? dequantize(up.weight) : up.weight;
      const Tensor by_head = reshape(weight, {heads, sizes.plain + sizes.value_dim, sizes.rank});
      latent.key_up = narrow(by_head, 1, 0, sizes.plain).contiguous();
      latent.value_up = narrow(by_head, 1, sizes.plain, sizes.value_dim).contiguous();
    }
    latent.out = linear(names_.o, hidden, heads * sizes.value_dim, config_.output_bias);
    latent.options.scale = config_.attention_scale.value_or(1 / std::sqrt(static_cast<float>(per_head)));
    return latent;
  }

  ShortConv convolution() {
    ShortConv conv;
    conv.in = linear(names_.conv + "in_proj", 3 * config_.hidden, config_.hidden, config_.conv_bias);
    conv.out = linear(names_.conv + "out_proj", config_.hidden, config_.hidden, config_.conv_bias);
    conv.weight =
        taps_first(loader_.vector(prefix_ + names_.conv + "conv.weight", {config_.hidden, config_.conv_taps}));
    if (config_.conv_bias) conv.bias = loader_.vector(prefix_ + names_.conv + "conv.bias", {config_.hidden});
    return conv;
  }

  Xielu xielu(const std::string& name) {
    const auto number = [&](const std::string& part) {
      const Tensor value = loader_.vector(cat(prefix_, name, part), {1});
      return value.defined() ? static_cast<double>(value.to_vector<float>()[0]) : 0;
    };
    const auto positive = [&](const std::string& part) { return std::log1p(std::exp(number(part))); };
    Xielu xielu;
    xielu.beta = number("beta");
    xielu.least = number("eps");
    xielu.above = positive("alpha_p");
    xielu.below = xielu.beta + positive("alpha_n");
    return xielu;
  }

  Mlp mlp() {
    Mlp mlp;
    mlp.activation = config_.activation;
    if (config_.gated) mlp.gate = linear(names_.gate, config_.intermediate, config_.hidden, config_.mlp_bias);
    mlp.up = linear(names_.up, config_.intermediate, config_.hidden, config_.mlp_bias, config_.transposed);
    mlp.down = linear(names_.down, config_.hidden, config_.intermediate, config_.mlp_bias, config_.transposed);
    mlp.sub_norm = sub_norm(names_.mlp_sub_norm, config_.intermediate);
    if (config_.activation == Activation::kXielu) mlp.xielu = xielu(names_.activation);
    return mlp;
  }

  Mlp expert(const std::string& stem, int64_t intermediate, bool bias) {
    Mlp mlp;
    mlp.activation = config_.activation;
    mlp.gate = linear(stem + "gate_proj", intermediate, config_.hidden, bias);
    mlp.up = linear(stem + "up_proj", intermediate, config_.hidden, bias);
    mlp.down = linear(stem + "down_proj", config_.hidden, intermediate, bias);
    return mlp;
  }

  Moe moe() {
    const MoeConfig& wanted = *config_.moe;
    Moe moe;
    moe.routing = wanted.routing;
    moe.router = linear(names_.router, wanted.routing.experts, config_.hidden, wanted.expert_bias);
    if (wanted.selection_bias) {
      moe.selection_bias = loader_.vector(prefix_ + names_.selection_bias, {wanted.routing.experts});
    }
    for (int64_t i = 0; i < wanted.routing.experts; ++i) {
      moe.experts.push_back(expert(cat(names_.experts, i, "."), wanted.intermediate, wanted.expert_bias));
    }
    moe.prepare();
    if (wanted.shared_intermediate > 0) {
      moe.shared = expert(names_.shared, wanted.shared_intermediate, false);
      if (wanted.shared_gate) moe.shared_gate = linear(names_.shared_gate, 1, config_.hidden, false);
    }
    return moe;
  }

 private:
  const DecoderConfig& config_;
  const DecoderNames& names_;
  WeightLoader& loader_;
  std::string prefix_;
  Device device_;
};

int64_t widest_window(const std::vector<LayerKind>& kinds) {
  int64_t widest = 0;
  for (const LayerKind& kind : kinds) {
    if (kind.convolution) continue;
    if (kind.window == 0) return 0;
    widest = std::max(widest, kind.window);
  }
  return widest;
}

}  // namespace

Decoder::Decoder(const DecoderConfig& config, WeightLoader& loader, const ModelOptions& options)
    : config_(config), device_(options.device) {
  const ArenaPause keep;
  const DecoderNames& names = config_.names;
  facts_.family = config_.family;
  facts_.layers = config_.layers;
  facts_.hidden = config_.hidden;
  facts_.vocabulary = config_.vocabulary;
  facts_.heads = config_.heads;
  facts_.max_context = options.context > 0 ? options.context : default_context(config_);
  if (!names.positions.empty() && facts_.max_context > config_.max_positions) {
    throw Error(ErrorCode::kInvalidArgument, cat("a context of ", facts_.max_context, " is asked for, but this ",
                                                 config_.family, " knows ", config_.max_positions, " positions"));
  }
  embedding_ = loader.table(names.embed, config_.vocabulary, config_.hidden);
  if (!names.positions.empty()) {
    const int64_t rows = config_.max_positions + config_.position_offset;
    positions_ = loader.table(names.positions, rows, config_.hidden);
    if (positions_.defined()) positions_ = narrow(positions_, 0, config_.position_offset, config_.max_positions);
  }
  if (config_.query_growth) query_growth_ = growth_table(*config_.query_growth, facts_.max_context, device_);
  const auto norm = [&](const std::string& name) {
    if (name.empty()) return Norm();
    return loader.norm(name, config_.norm, config_.hidden, config_.norm_eps, config_.norm_weights, config_.norm_bias,
                       config_.norm_offset);
  };
  embed_norm_ = norm(names.embed_norm);
  size_t attentions = 0, convolutions = 0;
  for (int i = 0; i < static_cast<int>(config_.layers); ++i) {
    DecoderLayer layer = load_layer(i, loader);
    layer.kv_index = attentions;
    layer.state_index = convolutions;
    (layer.kind.convolution ? convolutions : attentions) += 1;
    if (config_.latent) {
      facts_.kv_layers.push_back({1, config_.latent->rank + config_.latent->rotated, config_.latent->rank});
    } else if (!layer.kind.convolution) {
      facts_.kv_layers.push_back({config_.kv_heads, config_.head_dim, config_.head_dim});
    }
    layers_.push_back(std::move(layer));
  }
  facts_.recurrent = convolutions > 0;
  facts_.takes_embeddings = true;
  facts_.takes_drawn = can_draw_tokens(device_, config_.vocabulary);
  facts_.window = widest_window(config_.kinds);
  final_norm_ = norm(names.final_norm);
  if (config_.tied) {
    head_.weight = embedding_;
  } else {
    const int64_t rows = config_.classes > 0 ? config_.classes : config_.vocabulary;
    head_ = loader.linear(names.head, rows, config_.hidden, config_.head_bias);
  }
  for (const RopeConfig& rope : config_.ropes) ropes_.emplace_back(rope, facts_.max_context);
  facts_.parameters = loader.parameters();
  facts_.weight_bytes = loader.bytes();
}

DecoderLayer Decoder::load_layer(int index, WeightLoader& loader) {
  const DecoderNames& names = config_.names;
  LayerLoader load(config_, loader, index, device_);
  DecoderLayer layer;
  layer.index = index;
  layer.kind = config_.kinds[static_cast<size_t>(index)];
  layer.parallel = config_.parallel;
  layer.residual_scale = config_.residual_scale;
  layer.attn_norm = load.norm(names.attn_norm);
  if (layer.kind.convolution) {
    layer.convolution = load.convolution();
  } else if (config_.latent) {
    layer.latent = load.latent();
  } else {
    layer.attention = load.attention(layer.kind);
  }
  layer.attn_post_norm = load.norm(names.attn_post_norm);
  layer.mlp_norm = load.norm(names.mlp_norm);
  if (layer.kind.sparse) {
    layer.moe = load.moe();
  } else {
    layer.mlp = load.mlp();
  }
  layer.mlp_post_norm = load.norm(names.mlp_post_norm);
  return layer;
}

}  // namespace wick
