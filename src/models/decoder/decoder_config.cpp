#include "models/decoder/decoder_config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

constexpr int64_t kMost = int64_t{1} << 24;  // of anything that is counted: products of two stay far from overflow

Error bad(const DecoderConfig& config, const std::string& what) {
  return {ErrorCode::kBadFile,
          cat("the settings of this ", config.family.empty() ? "model" : config.family, " say ", what)};
}

void check_count(const DecoderConfig& config, const char* name, int64_t value, int64_t most = kMost) {
  if (value < 1 || value > most) throw bad(config, cat(name, " = ", value, ", expected 1 to ", most));
}

void check_rope(const DecoderConfig& config, const RopeConfig& rope, int64_t head_dim) {
  if (!(rope.theta > 0) || !(rope.theta < 1e15))
    throw bad(config, cat("rope_theta = ", rope.theta, ", expected a number above 0"));
  if (rope.dim < 2 || rope.dim % 2 != 0 || rope.dim > head_dim) {
    throw bad(config, cat(rope.dim, " of ", head_dim, " components of a head turn, expected an even number within it"));
  }
  if (!(rope.factor > 0) || !(rope.factor < 1e6)) throw bad(config, cat("a rope factor of ", rope.factor));
  const bool needs_original =
      rope.kind == RopeKind::kLlama3 || rope.kind == RopeKind::kYarn || rope.kind == RopeKind::kLongRope;
  if (needs_original && rope.original_positions < 1) {
    throw bad(config,
              cat("rope's original_max_position_embeddings = ", rope.original_positions, ", expected at least 1"));
  }
  if (rope.kind == RopeKind::kLlama3 && !(rope.high_freq_factor > rope.low_freq_factor && rope.low_freq_factor > 0)) {
    throw bad(config, cat("rope frequency factors of ", rope.low_freq_factor, " and ", rope.high_freq_factor,
                          ", expected 0 < low < high"));
  }
  if (rope.kind == RopeKind::kYarn && (!(rope.beta_fast > 0) || !(rope.beta_slow > 0) || rope.theta <= 1)) {
    throw bad(config, cat("rope betas of ", rope.beta_fast, " and ", rope.beta_slow, ", expected numbers above 0"));
  }
  if (!rope.axes.empty()) {
    const bool counts = rope.axes.size() == 3 && std::all_of(rope.axes.begin(), rope.axes.end(), [](int64_t pairs) {
                          return pairs >= 0 && pairs <= (1 << 16);
                        });
    if (!counts) throw bad(config, "that mrope_section is other than three counts of pairs");
    const int64_t pairs = rope.axes[0] + rope.axes[1] + rope.axes[2];
    if (!rope.axes_interleaved && pairs != rope.dim / 2) {
      throw bad(config, cat("mrope_section has ", pairs, " pairs, expected ", rope.dim / 2));
    }
  }
  for (const auto* factors : {&rope.short_factor, &rope.long_factor}) {
    if (rope.kind != RopeKind::kLongRope) break;
    if (static_cast<int64_t>(factors->size()) != rope.dim / 2) {
      throw bad(config, cat("longrope has ", factors->size(), " factors, expected ", rope.dim / 2));
    }
    for (const double factor : *factors) {
      if (!(factor > 0)) throw bad(config, cat("a longrope factor of ", factor));
    }
  }
}

void check_moe(const DecoderConfig& config, const MoeConfig& moe) {
  const Routing& routing = moe.routing;
  check_count(config, "the number of experts", routing.experts, 1 << 16);
  check_count(config, "the experts per token", routing.chosen, routing.experts);
  check_count(config, "the size of an expert", moe.intermediate);
  check_count(config, "the size of the shared expert", moe.shared_intermediate + 1);
  check_count(config, "the groups of experts", routing.groups, routing.experts);
  check_count(config, "the groups per token", routing.chosen_groups, routing.groups);
  if (routing.experts % routing.groups != 0) {
    throw bad(config, cat(routing.experts, " experts in ", routing.groups, " groups"));
  }
  if (routing.chosen > routing.experts / routing.groups * routing.chosen_groups) {
    throw bad(config, cat(routing.chosen, " experts per token from ", routing.chosen_groups, " groups of ",
                          routing.experts / routing.groups));
  }
}

void check_attention(const DecoderConfig& config) {
  check_count(config, "num_attention_heads", config.heads, kMostHeads);
  check_count(config, "num_key_value_heads", config.kv_heads, kMostHeads);
  check_count(config, "head_dim", config.head_dim, 1 << 16);
  check_count(config, "max_position_embeddings", config.max_positions, int64_t{1} << 31);
}

void check_layer_attention(const DecoderConfig& config, size_t index) {
  const LayerKind& kind = config.kinds[index];
  const int64_t head_dim = head_dim_of(config, kind), kv_heads = kv_heads_of(config, kind);
  check_count(config, "head_dim", head_dim, 1 << 16);
  check_count(config, "num_key_value_heads", kv_heads, kMostHeads);
  if (config.heads % kv_heads != 0) {
    throw bad(config, cat(config.heads, " query heads share ", kv_heads, " key heads, which does not divide"));
  }
  if (kind.window < 0 || kind.window > (int64_t{1} << 31)) throw bad(config, cat("sliding_window = ", kind.window));
  if (kind.chunk < 0 || kind.chunk > (int64_t{1} << 31)) throw bad(config, cat("attention_chunk_size = ", kind.chunk));
  if (config.differential && kv_heads % 2 != 0) {
    throw bad(config, cat("that ", kv_heads, " key heads fall into two halves"));
  }
  if (kind.rope >= 0 && static_cast<size_t>(kind.rope) < config.ropes.size()) {
    check_rope(config, config.ropes[static_cast<size_t>(kind.rope)], head_dim);
  }
  if (kind.kv_from < 0) return;
  const LayerKind& owner = config.kinds[std::min(static_cast<size_t>(kind.kv_from), index)];
  if (&owner == &kind || owner.kv_from >= 0 || !owner.attention || config.latent || config.differential ||
      config.qk_norm_after_rope || config.qk_norm == QkNorm::kWholeRow || head_dim_of(config, owner) != head_dim ||
      kv_heads_of(config, owner) != kv_heads) {
    throw bad(config, cat("that layer ", index, " shares keys and values with layer ", kind.kv_from,
                          ", which has none of that kind"));
  }
}

}  // namespace

int64_t head_dim_of(const DecoderConfig& config, const LayerKind& kind) {
  return kind.head_dim > 0 ? kind.head_dim : config.head_dim;
}

int64_t kv_heads_of(const DecoderConfig& config, const LayerKind& kind) {
  return kind.kv_heads > 0 ? kind.kv_heads : config.kv_heads;
}

bool DecoderConfig::has_attention() const {
  return std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& kind) { return kind.attention; });
}

void check_decoder_config(const DecoderConfig& config) {
  check_count(config, "num_hidden_layers", config.layers, 4096);
  check_count(config, "hidden_size", config.hidden);
  check_count(config, "vocab_size", config.vocabulary);
  if (config.has_attention()) check_attention(config);
  if (!(config.norm_eps >= 0) || !(config.norm_eps < 1)) throw bad(config, cat("a norm epsilon of ", config.norm_eps));
  if (static_cast<int64_t>(config.kinds.size()) != config.layers) {
    throw bad(config, cat("the kinds of ", config.kinds.size(), " layers and num_hidden_layers = ", config.layers));
  }
  bool dense = false, sparse = false;
  int64_t head_dim = config.head_dim;
  for (size_t i = 0; i < config.kinds.size(); ++i) {
    const LayerKind& kind = config.kinds[i];
    if (kind.feed_forward) (kind.sparse ? sparse : dense) = true;
    if (kind.attention) check_layer_attention(config, i);
    head_dim = std::max(head_dim, head_dim_of(config, kind));
    check_count(config, "the size of a layer's MLP", kind.intermediate + 1);
  }
  dense |= sparse && config.moe && config.moe->beside_mlp;
  if (dense && !config.recurrent_mlp) check_count(config, "intermediate_size", config.intermediate);
  if (const auto& latent = config.latent) {
    check_count(config, "kv_lora_rank", latent->rank, 1 << 16);
    check_count(config, "q_lora_rank", latent->q_rank + 1);
    check_count(config, "qk_nope_head_dim", latent->plain, 1 << 16);
    check_count(config, "qk_rope_head_dim", latent->rotated, 1 << 16);
    check_count(config, "v_head_dim", latent->value_dim, 1 << 16);
  }
  const bool has_gate = config.gated || sparse;
  if (has_gate ? config.activation == Activation::kXielu : config.activation == Activation::kClampedSwiglu) {
    throw bad(config, cat("that its MLP ", has_gate ? "with" : "without", " a gate is activated by ",
                          to_string(config.activation)));
  }
  if (const auto& growth = config.query_growth) {
    check_count(config, "max_position_embeddings beside growing queries", config.max_positions);
    if (!(growth->period >= 1) || !std::isfinite(growth->factor)) {
      throw bad(config, cat("that queries grow by ", growth->factor, " in ", growth->period, " positions"));
    }
  }
  if (sparse) check_moe(config, config.moe.value_or(MoeConfig{}));
  if (config.ropes.size() > kMostRopes) throw bad(config, cat(config.ropes.size(), " kinds of rope"));
  for (const RopeConfig& rope : config.ropes) check_rope(config, rope, head_dim);
  check_count(config, "hidden_size_per_layer_input", config.layer_input + 1, 1 << 16);
  check_count(config, "vocab_size_per_layer_input", config.layer_vocabulary + 1);
  check_count(config, "laurel_rank", config.laurel_rank + 1);
  if (const auto& altup = config.altup) {
    check_count(config, "altup_num_inputs", altup->copies, 64);
    check_count(config, "altup_active_idx", altup->active + 1, altup->copies);
    if (altup->copies < 2 || config.layer_input < 1) throw bad(config, "AltUp with nothing to tell its copies apart");
  }
  if (config.parallel && (config.altup || config.layer_input > 0 || config.laurel_rank > 0 || config.layer_scale)) {
    throw bad(config, "that attention and MLP read the same input in layers with inputs of their own");
  }
}

}  // namespace wick
