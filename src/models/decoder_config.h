#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/activation.h"
#include "nn/moe.h"
#include "nn/norm.h"
#include "nn/rope.h"

namespace wick {

class RecurrentMixer;
class WeightLoader;

// What tensors are called, without ".weight". Empty: the family has none.
struct DecoderNames {
  std::string embed = "model.embed_tokens";
  std::string positions;  // a learned table of positions
  std::string embed_norm;
  std::string layers = "model.layers.";  // followed by the number and a dot
  std::string final_norm = "model.norm";
  std::string head = "lm_head";
  // Within a layer.
  std::string attn_norm = "input_layernorm";
  std::string q = "self_attn.q_proj", k = "self_attn.k_proj", v = "self_attn.v_proj", o = "self_attn.o_proj";
  std::string q_norm = "self_attn.q_norm", k_norm = "self_attn.k_norm";
  std::string sinks = "self_attn.sinks";
  std::string attn_sub_norm;  // of what the heads give, before o
  std::string attn_post_norm;
  std::string mlp_norm = "post_attention_layernorm";
  std::string gate = "mlp.gate_proj", up = "mlp.up_proj", down = "mlp.down_proj";
  std::string mlp_sub_norm;  // of what is activated, before down
  std::string mlp_post_norm;
  std::string router = "mlp.gate", experts = "mlp.experts.";
  std::string selection_bias = "mlp.gate.e_score_correction_bias";  // the whole name
  std::string shared = "mlp.shared_expert.", shared_gate = "mlp.shared_expert_gate";
  std::string activation = "mlp.act_fn.";  // of activations with weights
};

enum class QkNorm : uint8_t { kNone, kPerHead, kWholeRow };

struct MoeConfig {
  Routing routing;
  int64_t intermediate = 0;
  bool beside_mlp = false;          // experts and an MLP on each layer, as Gemma 4 adds them up
  int64_t shared_intermediate = 0;  // 0: no shared expert
  bool shared_gate = false;
  bool selection_bias = false;
  bool expert_bias = false;
};

// Sizes of multi-head latent attention, per head but for the ranks.
struct LatentConfig {
  int64_t q_rank = 0;  // 0: queries are projected at once
  int64_t rank = 0;
  int64_t plain = 0, rotated = 0;  // components of keys
  int64_t value_dim = 0;
};

// Queries at position p count 1 + factor * log(1 + floor((p + offset) / period)) times, so that attention stays sharp
// in long texts.
struct QueryGrowth {
  double factor = 0, period = 1;
  int64_t offset = 0;
};

// Loads a recurrent mixer of the layer whose tensors' names begin with `layer`: "model.layers.3.".
using MixerLoader =
    std::function<std::shared_ptr<const RecurrentMixer>(WeightLoader& loader, const std::string& layer)>;

// Copies of the residual stream (AltUp), and which of them layers compute with.
struct AltUpConfig {
  int64_t copies = 0, active = 0;
  bool scale = false;  // that copy on its way to the layer's own input
};

// What one layer does differently from the next.
struct LayerKind {
  bool attention = true;
  bool recurrent = false;    // a recurrent mixer, in place of attention or beside it on the same input
  bool feed_forward = true;  // false: nothing stands behind the mixer
  int64_t window = 0;        // tokens that attention sees; 0: all
  int64_t chunk = 0;         // of those, attention sees the ones in its own chunk of so many; 0: all
  int rope = 0;              // index into DecoderConfig::ropes; -1: positions are not rotated
  bool query_growth = false;
  bool qk_norm = true;           // where the model has such norms
  bool sparse = false;           // experts instead of one MLP
  int kv_from = -1;              // the earlier layer whose keys and values attention uses; -1: its own
  bool keys_are_values = false;  // one projection gives both
  // 0: as the model says.
  int64_t kv_heads = 0, head_dim = 0, intermediate = 0;
  std::optional<double> cut;  // Mlp::cut

  bool mixes() const { return attention || recurrent; }
  // A recurrent mixer or nothing in place of attention.
  void replace_attention(bool by_recurrent) {
    attention = false;
    recurrent = by_recurrent;
  }
};

inline constexpr int64_t kMostHeads = 1 << 16;
inline constexpr size_t kMostRopes = 4;  // kinds of rotation in one model

// A decoder-only transformer. The defaults are Llama; a family sets what it does differently.
struct DecoderConfig {
  std::string family;
  int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  int64_t intermediate = 0, vocabulary = 0, max_positions = 0;
  int64_t position_offset = 0;  // rows of the table of positions before the first one
  int64_t classes = 0;          // that the head predicts, when they are not the tokens; 0: they are
  DecoderNames names;

  NormKind norm = NormKind::kRms;
  bool norm_weights = true;  // false: norms have no weights at all
  bool norm_bias = true;     // of LayerNorm
  float norm_offset = 0;     // added to norm weights as stored (Gemma: 1)
  float norm_eps = 1e-5f;
  QkNorm qk_norm = QkNorm::kNone;
  NormKind qk_norm_kind = NormKind::kRms;
  bool qk_norm_after_rope = false;
  bool qk_norm_weights = true;
  bool value_norm = false;  // an RMS norm without weights over each head's values

  bool parallel = false;         // attention and MLP read the same input
  bool gated_attention = false;  // q gives each head's gate behind its query: sigmoid(gate) * values
  bool gated = true;
  bool transposed = false;  // Hugging Face files keep o, up and down as [in, out]
  Activation activation = Activation::kSilu;
  bool attention_bias = false;  // on q, k and v
  bool output_bias = false;     // on o
  bool mlp_bias = false;
  bool head_bias = false;
  bool tied = false;  // the output projection is the embedding
  bool sinks = false;
  std::vector<float> alibi_slopes;  // one per head; empty: no ALiBi
  float clip_qkv = 0;
  bool differential = false;  // attention is the difference of two halves of the heads

  std::optional<float> attention_scale;  // 1 / sqrt(head_dim) when empty
  std::optional<QueryGrowth> query_growth;
  float attention_soft_cap = 0, logit_soft_cap = 0;
  float embedding_scale = 1, residual_scale = 1, logit_scale = 1;
  float attention_out_scale = 1;                // of what attention adds
  float mlp_gate_scale = 1, mlp_out_scale = 1;  // of the gate before it is activated; of what the MLP adds

  std::vector<RopeConfig> ropes;  // at most kMostRopes; empty: nothing is rotated
  std::vector<LayerKind> kinds;   // one per layer
  std::optional<MoeConfig> moe;
  std::optional<LatentConfig> latent;  // instead of keys and values per head
  // Embeddings that each layer has for itself: their size, 0: none, and how many tokens have some of their own.
  int64_t layer_input = 0, layer_vocabulary = 0;
  bool layer_scale = false;  // the stream is multiplied by a number behind each layer
  int64_t laurel_rank = 0;   // 0: none
  std::optional<AltUpConfig> altup;
  MixerLoader recurrent;      // of layers that are recurrent
  MixerLoader recurrent_mlp;  // one that stands in place of MLPs; empty: they are usual ones

  bool has_attention() const;  // on any layer
};

// Of a layer's attention.
int64_t head_dim_of(const DecoderConfig& config, const LayerKind& kind);
int64_t kv_heads_of(const DecoderConfig& config, const LayerKind& kind);

// Throws Error(kBadFile) naming the setting that is out of range or contradicts another.
void check_decoder_config(const DecoderConfig& config);

}  // namespace wick
