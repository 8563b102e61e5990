#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "models/decoder/decoder.h"
#include "ops/binary.h"
#include "ops/layers/draw_tokens.h"
#include "ops/layers/quantize.h"
#include "ops/view.h"
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
        index_(index),
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
    attention.kv_heads = kv_heads_of(config_, kind);
    const int64_t head_dim = attention.head_dim = head_dim_of(config_, kind);
    attention.shares_kv = kind.kv_from >= 0;
    attention.keys_are_values = kind.keys_are_values;
    attention.gated = config_.gated_attention;
    const int64_t width = config_.heads * head_dim, kv_width = attention.kv_heads * head_dim;
    attention.q = linear(names_.q, attention.gated ? 2 * width : width, config_.hidden, config_.attention_bias);
    if (!attention.shares_kv) {
      attention.k = linear(names_.k, kv_width, config_.hidden, config_.attention_bias);
      if (!kind.keys_are_values) attention.v = linear(names_.v, kv_width, config_.hidden, config_.attention_bias);
    }
    attention.out = linear(names_.o, config_.hidden, width, config_.output_bias, config_.transposed);
    if (config_.qk_norm != QkNorm::kNone && kind.qk_norm) {
      const bool whole = attention.norm_whole_rows = config_.qk_norm == QkNorm::kWholeRow;
      const auto qk_norm = [&](const std::string& name, int64_t row) {
        return loader_.norm(prefix_ + name, config_.qk_norm_kind, whole ? row : head_dim, config_.norm_eps,
                            !name.empty() && config_.qk_norm_weights, config_.norm_bias, config_.norm_offset);
      };
      attention.norm_after_rope = config_.qk_norm_after_rope;
      attention.q_norm = qk_norm(names_.q_norm, width);
      if (!attention.shares_kv) attention.k_norm = qk_norm(names_.k_norm, kv_width);
    }
    if (config_.value_norm) attention.v_norm = plain_norm(head_dim);
    if (config_.differential) attention.differential = differential(head_dim);
    attention.clip = config_.clip_qkv;
    attention.grows = kind.query_growth;
    attention.sub_norm = sub_norm(names_.attn_sub_norm, width);
    PagedAttentionOptions& options = attention.options;
    options.scale = config_.attention_scale.value_or(1 / std::sqrt(static_cast<float>(head_dim)));
    options.soft_cap = config_.attention_soft_cap;
    options.window = kind.window;
    options.chunk = kind.chunk;
    if (config_.sinks) options.sinks = loader_.vector(prefix_ + names_.sinks, {config_.heads});
    if (!config_.alibi_slopes.empty()) {
      options.alibi_slopes = from_vector(config_.alibi_slopes, {config_.heads}).to_device(device_);
    }
    return attention;
  }

  Norm plain_norm(int64_t size) { return loader_.norm({}, NormKind::kRms, size, config_.norm_eps, false, false, 0); }

  // How much of the second half is taken away is learned, from a beginning that depends on the layer.
  Differential differential(int64_t head_dim) {
    const auto learned = [&](const char* which) {
      const Tensor q = loader_.vector(cat(prefix_, "self_attn.lambda_q", which), {head_dim});
      const Tensor k = loader_.vector(cat(prefix_, "self_attn.lambda_k", which), {head_dim});
      if (!q.defined()) return 0.0;
      const std::vector<float> a = q.to_vector<float>(), b = k.to_vector<float>();
      return std::exp(std::inner_product(a.begin(), a.end(), b.begin(), 0.0));
    };
    const double first = learned("1"), second = learned("2"), begin = 0.8 - 0.6 * std::exp(-0.3 * index_);
    Differential by;
    by.share = static_cast<float>(first - second + begin);
    by.norm = plain_norm(2 * head_dim);
    by.scale = static_cast<float>(1 - begin);
    return by;
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

  Mlp mlp(const LayerKind& kind) {
    Mlp mlp;
    const int64_t intermediate = kind.intermediate > 0 ? kind.intermediate : config_.intermediate;
    mlp.activation = config_.activation;
    mlp.cut = kind.cut;
    if (config_.gated) mlp.gate = linear(names_.gate, intermediate, config_.hidden, config_.mlp_bias);
    mlp.up = linear(names_.up, intermediate, config_.hidden, config_.mlp_bias, config_.transposed);
    mlp.down = linear(names_.down, config_.hidden, intermediate, config_.mlp_bias, config_.transposed);
    mlp.sub_norm = sub_norm(names_.mlp_sub_norm, intermediate);
    if (config_.activation == Activation::kXielu) mlp.xielu = xielu(names_.activation);
    mlp.gate_scale = config_.mlp_gate_scale;
    mlp.scale = config_.mlp_out_scale;
    return mlp;
  }

  Mlp expert(const std::string& stem, int64_t intermediate, bool bias) {
    Mlp mlp;
    mlp.activation = config_.activation;
    if (config_.gated) mlp.gate = linear(stem + "gate_proj", intermediate, config_.hidden, bias);
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

  // Of a router of Gemma 4, whose input is normed and scaled by itself.
  void route_beside(Moe& moe) {
    const Tensor scale = loader_.vector(prefix_ + "router.scale", {config_.hidden});
    moe.router_norm = plain_norm(config_.hidden);
    moe.expert_scale = loader_.vector(prefix_ + "router.per_expert_scale", {config_.moe->routing.experts, 1});
    if (!scale.defined()) return;
    const ArenaPause keep;
    moe.router_norm.weight = mul(scale, 1 / std::sqrt(static_cast<double>(config_.hidden)));
  }

  LayerInput input() {
    LayerInput input;
    input.gate = linear("per_layer_input_gate", config_.layer_input, config_.hidden, false);
    input.out = linear("per_layer_projection", config_.hidden, config_.layer_input, false);
    input.norm = norm("post_per_layer_input_norm");
    input.activation = config_.activation;
    return input;
  }

  Laurel laurel() {
    Laurel laurel;
    laurel.left = linear("laurel.linear_left", config_.laurel_rank, config_.hidden, false);
    laurel.right = linear("laurel.linear_right", config_.hidden, config_.laurel_rank, false);
    laurel.norm = norm("laurel.post_laurel_norm");
    return laurel;
  }

  AltUp altup() {
    AltUp altup;
    const int64_t copies = altup.copies = config_.altup->copies;
    altup.active = config_.altup->active;
    altup.router_norm = norm("altup.router_norm");
    altup.router = linear("altup.modality_router", copies, config_.hidden, false);
    altup.prediction = linear("altup.prediction_coefs", copies * copies, copies, false);
    altup.correction = linear("altup.correction_coefs", copies, copies, false);
    if (config_.altup->scale) altup.scale = loader_.vector(prefix_ + "altup.correct_output_scale", {config_.hidden});
    if (altup.router_norm.weight.defined()) {
      const ArenaPause keep;
      altup.router_norm.weight = mul(altup.router_norm.weight, 1 / static_cast<double>(config_.hidden));
    }
    return altup;
  }

  Tensor scale() { return loader_.vector(prefix_ + "layer_scalar", {1}); }

 private:
  const DecoderConfig& config_;
  const DecoderNames& names_;
  WeightLoader& loader_;
  std::string prefix_;
  int index_;
  Device device_;
};

// Which row of a table of `count` tokens belongs to each of the vocabulary: those without a row of their own have the
// first. Undefined where every token has one.
Tensor rows_of_tokens(int64_t vocabulary, int64_t count, Device device) {
  if (count >= vocabulary) return {};
  std::vector<int64_t> rows(static_cast<size_t>(vocabulary));
  std::iota(rows.begin(), rows.begin() + count, int64_t{0});
  return from_vector(rows, {vocabulary, 1}).to_device(device);
}

LayerEmbeddings load_layer_embeddings(const DecoderConfig& config, WeightLoader& loader, Device device) {
  LayerEmbeddings embeddings;
  const std::string& embed = config.names.embed;
  const std::string stem = embed.substr(0, embed.rfind('.') + 1);
  const int64_t size = embeddings.size = config.layer_input, all = config.layers * size;
  embeddings.table = loader.table(embed + "_per_layer", config.layer_vocabulary, all);
  embeddings.rows = rows_of_tokens(config.vocabulary, config.layer_vocabulary, device);
  embeddings.projection = loader.linear(stem + "per_layer_model_projection", all, config.hidden, false);
  embeddings.norm = loader.norm(stem + "per_layer_projection_norm", config.norm, size, config.norm_eps, true, false,
                                config.norm_offset);
  embeddings.table_scale = std::sqrt(static_cast<float>(size));
  embeddings.projection_scale = 1 / std::sqrt(static_cast<float>(config.hidden));
  return embeddings;
}

AltUpEnds load_altup_ends(const DecoderConfig& config, WeightLoader& loader) {
  AltUpEnds ends;
  const std::string& embed = config.names.embed;
  const std::string stem = embed.substr(0, embed.rfind('.') + 1);
  for (int64_t i = 0; i + 1 < config.altup->copies; ++i) {
    ends.expand.push_back(loader.linear(cat(stem, "altup_projections.", i), config.hidden, config.hidden, false));
    ends.join.push_back(loader.linear(cat(stem, "altup_unembed_projections.", i), config.hidden, config.hidden, false));
  }
  return ends;
}

int64_t widest_window(const std::vector<LayerKind>& kinds) {
  int64_t widest = 0;
  for (const LayerKind& kind : kinds) {
    if (!kind.attention) continue;
    if (kind.window == 0 && kind.chunk == 0) return 0;
    widest = std::max(widest, kind.chunk == 0    ? kind.window
                              : kind.window == 0 ? kind.chunk
                                                 : std::min(kind.window, kind.chunk));
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
  if (!names.embed.empty()) embedding_ = loader.table(names.embed, config_.vocabulary, config_.hidden);
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
  if (config_.layer_input > 0) layer_embeddings_ = load_layer_embeddings(config_, loader, device_);
  if (config_.altup) altup_ = load_altup_ends(config_, loader);
  for (int i = 0; i < static_cast<int>(config_.layers); ++i) {
    DecoderLayer layer = load_layer(config_, i, loader);
    if (layer.recurrent_mlp) add_state(*layer.recurrent_mlp, layer.mlp_state_index);
    if (layer.recurrent) add_state(*layer.recurrent, layer.state_index);
    place_kv(layer);
    layers_.push_back(std::move(layer));
  }
  facts_.recurrent = !state_shapes_.empty();
  facts_.takes_embeddings = config_.layer_input == 0;  // layers' own embeddings are those of tokens
  facts_.takes_grids = std::any_of(config_.ropes.begin(), config_.ropes.end(),
                                   [](const RopeConfig& rope) { return !rope.axes.empty(); });
  facts_.takes_drawn = can_draw_tokens(device_, config_.vocabulary);
  facts_.window = widest_window(config_.kinds);
  final_norm_ = norm(names.final_norm);
  if (config_.tied) {
    head_.weight = embedding_;
  } else if (!names.head.empty()) {
    const int64_t rows = config_.classes > 0 ? config_.classes : config_.vocabulary;
    head_ = loader.linear(names.head, rows, config_.hidden, config_.head_bias);
  }
  if (options.mtp) load_mtp(loader);
  for (const RopeConfig& rope : config_.ropes) ropes_.emplace_back(rope, facts_.max_context);
  facts_.parameters = loader.parameters();
  facts_.weight_bytes = loader.bytes();
  offer_linears();
}

// Its linears are offered to adapters.
std::shared_ptr<const RecurrentMixer> Decoder::load_mixer(const MixerLoader& load, const std::string& layer,
                                                          WeightLoader& loader) const {
  std::vector<std::pair<std::string, Linear>> linears;
  loader.set_offered(&linears);
  std::shared_ptr<const RecurrentMixer> mixer = load(loader, layer);
  loader.set_offered(nullptr);
  for (const auto& [name, linear] : linears) adapters_->take(name, linear);
  return mixer;
}

// Where a layer's keys and values lie.
void Decoder::place_kv(DecoderLayer& layer) {
  if (!layer.kind.attention) return;
  if (layer.kind.kv_from >= 0) {
    layer.kv_index = layers_[static_cast<size_t>(layer.kind.kv_from)].kv_index;
    return;
  }
  layer.kv_index = facts_.kv_layers.size();
  const int64_t head_dim = head_dim_of(config_, layer.kind);
  const int64_t value_dim = config_.differential ? 2 * head_dim : head_dim;
  facts_.kv_layers.push_back(config_.latent
                                 ? KvShape{1, config_.latent->rank + config_.latent->rotated, config_.latent->rank}
                                 : KvShape{kv_heads_of(config_, layer.kind), head_dim, value_dim});
}

void Decoder::load_mtp(WeightLoader& loader) {
  if (!config_.mtp) {
    throw Error(ErrorCode::kUnsupported, cat("this ", config_.family, " has no layer that predicts further tokens"));
  }
  const MtpConfig& mtp = *config_.mtp;
  DecoderConfig config = config_;
  config.names.layers = mtp.layers;
  config.kinds.resize(static_cast<size_t>(mtp.index) + 1);
  config.kinds.back() = mtp.kind;
  const auto norm = [&](const std::string& name) {
    return loader.norm(name, config_.norm, config_.hidden, config_.norm_eps, true, config_.norm_bias,
                       config_.norm_offset);
  };
  MtpLayer& part = mtp_.emplace();
  part.embed_norm = norm(mtp.embed_norm);
  part.hidden_norm = norm(mtp.hidden_norm);
  part.join = loader.linear(mtp.join, config_.hidden, 2 * config_.hidden, false);
  part.layer = load_layer(config, static_cast<int>(mtp.index), loader);
  part.layer.index = static_cast<int>(config_.layers);
  part.final_norm = norm(mtp.final_norm);
  part.passes_normed = mtp.passes_normed;
  place_kv(part.layer);
  facts_.looks_ahead = true;
  if (mtp.kind.window == 0) facts_.window = 0;
}

DecoderLayer Decoder::load_layer(const DecoderConfig& config, int index, WeightLoader& loader) const {
  const DecoderNames& names = config.names;
  LayerLoader load(config, loader, index, device_);
  DecoderLayer layer;
  layer.index = index;
  layer.kind = config.kinds[static_cast<size_t>(index)];
  layer.parallel = config.parallel;
  layer.residual_scale = config.residual_scale;
  layer.attention_scale = config.attention_out_scale;
  const std::string prefix = cat(names.layers, index, ".");
  if (layer.kind.mixes()) {
    layer.attn_norm = load.norm(names.attn_norm);
    if (layer.kind.recurrent) layer.recurrent = load_mixer(config.recurrent, prefix, loader);
    if (layer.kind.attention && config.latent) {
      layer.latent = load.latent();
    } else if (layer.kind.attention) {
      layer.attention = load.attention(layer.kind);
    }
    layer.attn_post_norm = load.norm(names.attn_post_norm);
  }
  if (!layer.kind.feed_forward) return layer;
  layer.mlp_norm = load.norm(names.mlp_norm);
  const bool has_moe = layer.kind.sparse && !config.recurrent_mlp;
  const bool beside = has_moe && config.moe->beside_mlp;
  if (config.recurrent_mlp) layer.recurrent_mlp = load_mixer(config.recurrent_mlp, prefix, loader);
  if (has_moe) layer.moe = load.moe();
  if ((!has_moe && !config.recurrent_mlp) || beside) layer.mlp = load.mlp(layer.kind);
  if (beside) {
    load.route_beside(layer.moe);
    layer.beside_norm = load.norm("pre_feedforward_layernorm_2");
    layer.beside_mlp_post_norm = load.norm("post_feedforward_layernorm_1");
    layer.beside_moe_post_norm = load.norm("post_feedforward_layernorm_2");
  }
  layer.mlp_post_norm = load.norm(names.mlp_post_norm);
  if (config.laurel_rank > 0) layer.laurel = load.laurel();
  if (config.layer_input > 0) layer.input = load.input();
  if (config.altup) layer.altup = load.altup();
  if (config.layer_scale) layer.scale = load.scale();
  return layer;
}

void Decoder::add_state(const RecurrentMixer& mixer, size_t& index) {
  index = state_shapes_.size();
  for (const Shape& shape : mixer.state_shapes()) state_shapes_.push_back(shape);
}

}  // namespace wick
