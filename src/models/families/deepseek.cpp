#include "models/families/families.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace {

// Latent attention, and experts behind the first layers.
DecoderConfig latent_config(const ConfigReader& config) {
  DecoderConfig decoder = llama_config(config);
  LatentConfig latent;
  latent.q_rank = count_setting(config, "q_lora_rank", 0);
  latent.rank = count_setting(config, "kv_lora_rank", 512);
  latent.plain = count_setting(config, "qk_nope_head_dim", 128);
  latent.rotated = count_setting(config, "qk_rope_head_dim", 64);
  latent.value_dim = count_setting(config, "v_head_dim", 128);
  decoder.latent = latent;
  for (const std::string_view name : {"qk_head_dim", "head_dim", "num_key_value_heads"}) config.has(name);
  decoder.kv_heads = decoder.heads;
  decoder.head_dim = latent.plain + latent.rotated;
  RopeConfig rope = read_rope(config, latent.rotated, decoder.max_positions);
  rope.interleaved = config.flag("rope_interleave", true);
  if (rope.kind == RopeKind::kYarn && rope.mscale_all_dim && rope.factor > 1) {
    // Longer contexts also sharpen the scores.
    const double sharper = 0.1 * *rope.mscale_all_dim * std::log(rope.factor) + 1;
    decoder.attention_scale = static_cast<float>(sharper * sharper / std::sqrt(static_cast<double>(decoder.head_dim)));
  }
  decoder.ropes = {rope};
  decoder.names.shared = "mlp.shared_experts.";
  return decoder;
}

}  // namespace

DecoderConfig deepseek_v2_config(const ConfigReader& config) {
  DecoderConfig decoder = latent_config(config);
  MoeConfig moe = read_experts(config, decoder, false);
  moe.routing.scale = static_cast<float>(config.number("routed_scaling_factor", 1));
  const std::string method = config.text("topk_method", "greedy");
  if (method == "group_limited_greedy") {
    moe.routing.groups = config.integer("n_group", 1);
    moe.routing.chosen_groups = config.integer("topk_group", 1);
  } else if (method != "greedy") {
    throw Error(ErrorCode::kUnsupported,
                cat("config.json: topk_method is '", method, "'; DeepSeek V2 knows greedy and group_limited_greedy"));
  } else {
    config.has("n_group");
    config.has("topk_group");
  }
  const std::string scores = config.text("scoring_func", "softmax");
  if (scores != "softmax" || moe.routing.renormalize) {
    throw Error(ErrorCode::kUnsupported,
                "DeepSeek V2 with a scoring_func other than softmax or with norm_topk_prob is "
                "not supported");
  }
  decoder.moe = moe;
  read_shared_experts(config, *decoder.moe);
  read_dense_beginning(config, decoder, "first_k_dense_replace");
  return decoder;
}

DecoderConfig deepseek_v3_config(const ConfigReader& config) {
  DecoderConfig decoder = latent_config(config);
  decoder.moe = read_sigmoid_experts(config, decoder);
  read_shared_experts(config, *decoder.moe);
  read_dense_beginning(config, decoder, "first_k_dense_replace");
  read_mtp(config, decoder);
  return decoder;
}

}  // namespace wick
