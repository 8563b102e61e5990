#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/config_reader.h"
#include "nn/activation.h"
#include "nn/norm.h"

namespace wick {

// Where an encoder's weights lie in its file: names without ".weight". Those of layers stand behind `layers`, a number
// and a dot; empty: there is none.
struct EncoderNames {
  std::string tokens, positions, types, embedding_norm, layers, final_norm, pooler;
  std::string attn_norm, q, k, v, qkv, out, mlp_norm, gate, up, gate_up, up_gate, down;
  std::string q_norm, k_norm, attn_post_norm, mlp_post_norm;
  std::string relative;  // of layer 0
};

// An encoder of texts, as its config.json describes it.
struct EncoderConfig {
  std::string family;
  int64_t layers = 0, hidden = 0, heads = 0, intermediate = 0, vocabulary = 0;
  int64_t kv_heads = 0;          // 0: as many as heads
  int64_t positions = 0;         // tokens of a text, at most
  int64_t first_position = 0;    // RoBERTa's tables begin behind the padding's
  int64_t types = 0;             // kinds of segments; 0: none
  bool learns_positions = true;  // else they are sines, rotated or relative
  int64_t sinusoid_spread = 0;   // see sinusoids(); 0: they are not sines
  float embedding_scale = 1;
  bool norms_sums = true;       // EncoderLayer::norms_sums
  bool first_attn_norm = true;  // layer 0 has one
  bool attention_bias = true, mlp_bias = true, norm_bias = true;
  std::optional<bool> out_bias, down_bias;  // of attention's and the MLP's last product; empty: as the others
  float eps = 1e-12f;
  float norm_offset = 0;  // added to norm weights as stored
  Activation activation = Activation::kGelu;
  int64_t head_dim = 0;
  NormKind norm = NormKind::kLayer;
  std::optional<float> score_scale;                     // 1 / sqrt(head_dim) when empty
  std::vector<float> alibi_slopes;                      // of each head; empty: none
  int64_t relative_buckets = 0, relative_distance = 0;  // T5's positions; 0: none
  bool own_relative = false;                            // each layer has its own
  std::vector<int64_t> windows;                         // of each layer, to each side; 0: all
  std::vector<RopeConfig> ropes;                        // of each layer; empty: none
  EncoderNames names;
};

// A family of encoders by the model_type of config.json.
struct EncoderFamily {
  std::string_view model_type;
  std::string_view title;  // for people
  EncoderConfig (*read)(const ConfigReader& config);
};
std::span<const EncoderFamily> encoder_families();

// Of one of encoder_families(), or of a language model whose attention looks both ways. Throws Error(kBadFile) naming a
// setting that is wrong, Error(kUnsupported) for families and settings that are not understood.
EncoderConfig read_encoder_config(const ConfigReader& config);
bool is_encoder_family(std::string_view model_type);
// Whether a config.json is of a text encoder: by its family, or because it says that attention looks both ways.
bool is_encoder_config(const Json& config);

}  // namespace wick
