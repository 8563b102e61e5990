#include "models/families/families.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace wick {

namespace {

// For heads that are not a power of two: those of the next power, every second one first.
std::vector<float> mpt_slopes(int64_t heads, double most) {
  if (heads > kMostHeads) return {};  // more than any model may have
  int64_t whole = 1;
  while (whole < heads) whole *= 2;
  const auto slope = [&](int64_t i) {
    return static_cast<float>(std::exp2(-static_cast<double>(i + 1) * most / static_cast<double>(whole)));
  };
  std::vector<float> slopes;
  if (whole == heads) {
    for (int64_t i = 0; i < heads; ++i) slopes.push_back(slope(i));
    return slopes;
  }
  for (const int64_t first : {1, 0}) {
    for (int64_t i = first; i < whole && std::ssize(slopes) < heads; i += 2) slopes.push_back(slope(i));
  }
  return slopes;
}

}  // namespace

// LayerNorm without bias, ALiBi and a plain MLP; settings of attention are in a block of their own.
DecoderConfig mpt_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  use_layer_norm(config, decoder);
  decoder.norm_bias = false;
  DecoderNames& names = decoder.names;
  names.embed = "transformer.wte";
  names.layers = "transformer.blocks.";
  names.final_norm = "transformer.norm_f";
  names.attn_norm = "norm_1";
  names.q = "attn.q_proj";
  names.k = "attn.k_proj";
  names.v = "attn.v_proj";
  names.o = "attn.out_proj";
  names.mlp_norm = "norm_2";
  names.up = "ffn.up_proj";
  names.down = "ffn.down_proj";
  decoder.intermediate = count_setting(config, "hidden_size", 0) * count_setting(config, "expansion_ratio", 4);
  decoder.gated = false;
  decoder.activation = Activation::kGelu;
  decoder.tied = config.flag("tie_word_embeddings", true);
  rotate_nothing(decoder);

  double most = 8;
  if (const Json* attention = config.find("attn_config")) {
    const auto number = [&](std::string_view name) -> std::optional<double> {
      const Json* member = config.member(*attention, name);
      return member ? std::optional(member->as_number()) : std::nullopt;
    };
    const Json* alibi = config.member(*attention, "alibi");
    const Json* type = config.member(*attention, "attn_type");
    if ((alibi && !alibi->as_bool()) || (type && type->as_text() != "multihead_attention")) {
      throw Error(ErrorCode::kUnsupported,
                  cat(attention->place(), ": only multihead_attention with alibi is supported"));
    }
    decoder.clip_qkv = static_cast<float>(number("clip_qkv").value_or(0));
    if (const auto scale = number("softmax_scale")) decoder.attention_scale = static_cast<float>(*scale);
    most = number("alibi_bias_max").value_or(8);
  }
  decoder.alibi_slopes = mpt_slopes(decoder.heads, most);
  return decoder;
}

}  // namespace wick
