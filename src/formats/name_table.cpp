#include "formats/name_table.h"

namespace wick {
namespace {

using enum ByteChange;

constexpr std::string_view kBlk = "blk.{layer}.";
constexpr std::string_view kModelLayer = "model.layers.{layer}.";

// Llama and the many that kept its names.
constexpr NameRule kLlamaTopRules[] = {
    {"token_embd.*", "model.embed_tokens.*"},
    {"output_norm.*", "model.norm.*"},
    {"output.*", "lm_head.*"},
};
constexpr NameGroup kLlamaTop{"", "", kLlamaTopRules};

constexpr NameRule kLlamaLayerRules[] = {
    {"attn_norm.*", "input_layernorm.*"},         {"attn_q.*", "self_attn.q_proj.*"},
    {"attn_k.*", "self_attn.k_proj.*"},           {"attn_v.*", "self_attn.v_proj.*"},
    {"attn_qkv.*", "self_attn.qkv_proj.*"},       {"attn_output.*", "self_attn.o_proj.*"},
    {"attn_q_norm.*", "self_attn.q_norm.*"},      {"attn_k_norm.*", "self_attn.k_norm.*"},
    {"ffn_norm.*", "post_attention_layernorm.*"}, {"ffn_down.*", "mlp.down_proj.*"},
};
constexpr NameGroup kLlamaLayer{kBlk, kModelLayer, kLlamaLayerRules};

constexpr NameRule kGatedRules[] = {
    {"ffn_gate.*", "mlp.gate_proj.*"},
    {"ffn_up.*", "mlp.up_proj.*"},
};
constexpr NameGroup kGated{kBlk, kModelLayer, kGatedRules};

constexpr NameRule kRotaryPairsRules[] = {
    {"attn_q.*", "self_attn.q_proj.*", kRotaryQuery},
    {"attn_k.*", "self_attn.k_proj.*", kRotaryKey},
};
constexpr NameGroup kRotaryPairs{kBlk, kModelLayer, kRotaryPairsRules};

// Experts as Qwen, OLMoE and DeepSeek name them; Wick answers to these names for every family with experts.
constexpr NameRule kMoeRules[] = {
    {"ffn_gate_inp.*", "mlp.gate.*"},
    {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    {"ffn_gate_exps.*", "mlp.experts.{expert}.gate_proj.*"},
    {"ffn_up_exps.*", "mlp.experts.{expert}.up_proj.*"},
    {"ffn_down_exps.*", "mlp.experts.{expert}.down_proj.*"},
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj.weight"},
    // Newer checkpoints stack the experts themselves.
    {"ffn_gate_exps.weight", "mlp.experts.gate_up_proj", kFirstHalf},
    {"ffn_up_exps.weight", "mlp.experts.gate_up_proj", kSecondHalf},
    {"ffn_down_exps.weight", "mlp.experts.down_proj"},
    {"ffn_gate_inp_shexp.*", "mlp.shared_expert_gate.*"},
    {"ffn_gate_shexp.*", "mlp.shared_expert.gate_proj.*"},
    {"ffn_up_shexp.*", "mlp.shared_expert.up_proj.*"},
    {"ffn_down_shexp.*", "mlp.shared_expert.down_proj.*"},
    {"ffn_gate_shexp.*", "mlp.shared_experts.gate_proj.*"},
    {"ffn_up_shexp.*", "mlp.shared_experts.up_proj.*"},
    {"ffn_down_shexp.*", "mlp.shared_experts.down_proj.*"},
};
constexpr NameGroup kMoe{kBlk, kModelLayer, kMoeRules};

// Stacked experts as Qwen3-VL was released: [experts, in, out].
constexpr NameRule kTransposedMoeRules[] = {
    {"ffn_gate_exps.weight", "mlp.experts.gate_up_proj", kFirstHalfOfTransposed},
    {"ffn_up_exps.weight", "mlp.experts.gate_up_proj", kSecondHalfOfTransposed},
    {"ffn_down_exps.weight", "mlp.experts.down_proj", kTransposed},
    {"ffn_gate_exps.*", "mlp.experts.{expert}.gate_proj.*"},
    {"ffn_up_exps.*", "mlp.experts.{expert}.up_proj.*"},
    {"ffn_down_exps.*", "mlp.experts.{expert}.down_proj.*"},
    {"ffn_gate_inp.*", "mlp.gate.*"},
};
constexpr NameGroup kTransposedMoe{kBlk, kModelLayer, kTransposedMoeRules};

// Mixtral: w1 is the gate, w3 is up, w2 is down. Files of 2023 number the experts in GGUF, too.
constexpr NameRule kMixtralRules[] = {
    {"ffn_gate_inp.*", "block_sparse_moe.gate.*"},
    {"ffn_gate_exps.*", "block_sparse_moe.experts.{expert}.w1.*"},
    {"ffn_up_exps.*", "block_sparse_moe.experts.{expert}.w3.*"},
    {"ffn_down_exps.*", "block_sparse_moe.experts.{expert}.w2.*"},
    {"ffn_gate.{expert}.*", "block_sparse_moe.experts.{expert}.w1.*"},
    {"ffn_up.{expert}.*", "block_sparse_moe.experts.{expert}.w3.*"},
    {"ffn_down.{expert}.*", "block_sparse_moe.experts.{expert}.w2.*"},
};
constexpr NameGroup kMixtral{kBlk, kModelLayer, kMixtralRules};

constexpr NameRule kGraniteMoeRules[] = {
    {"ffn_gate_inp.*", "block_sparse_moe.router.layer.*"},
    {"ffn_gate_exps.weight", "block_sparse_moe.input_linear.weight", kFirstHalf},
    {"ffn_up_exps.weight", "block_sparse_moe.input_linear.weight", kSecondHalf},
    {"ffn_down_exps.weight", "block_sparse_moe.output_linear.weight"},
};
constexpr NameGroup kGraniteMoe{kBlk, kModelLayer, kGraniteMoeRules};

// Granite 4: all tokens go through an MLP beside the experts, or through it alone.
constexpr NameRule kGraniteSharedRules[] = {
    {"ffn_gate_shexp.weight", "shared_mlp.input_linear.weight", kFirstHalf},
    {"ffn_up_shexp.weight", "shared_mlp.input_linear.weight", kSecondHalf},
    {"ffn_down_shexp.weight", "shared_mlp.output_linear.weight"},
};
constexpr NameGroup kGraniteShared{kBlk, kModelLayer, kGraniteSharedRules};
constexpr NameRule kGraniteDenseRules[] = {
    {"ffn_gate.weight", "shared_mlp.input_linear.weight", kFirstHalf},
    {"ffn_up.weight", "shared_mlp.input_linear.weight", kSecondHalf},
    {"ffn_down.weight", "shared_mlp.output_linear.weight"},
};
constexpr NameGroup kGraniteDense{kBlk, kModelLayer, kGraniteDenseRules};

// Mamba 2 beside attention.
constexpr NameRule kMambaPartRules[] = {
    {"ssm_in.*", "in_proj.*"},
    {"ssm_conv1d.weight", "conv1d.weight", kDropMiddle},
    {"ssm_conv1d.bias", "conv1d.bias"},
    {"ssm_a", "A_log", kNegativeExpColumn},
    {"ssm_d", "D", kColumn},
    {"ssm_dt.bias", "dt_bias"},
    {"ssm_norm.*", "norm.*", kGroupedRow},
    {"ssm_out.*", "out_proj.*"},
};
constexpr NameGroup kMambaPart{kBlk, "model.layers.{layer}.mamba.", kMambaPartRules};
constexpr NameGroup kNemotronMamba{kBlk, "backbone.layers.{layer}.mixer.", kMambaPartRules};

// The second half of a layer in Jamba and Falcon H1.
constexpr NameRule kFeedForwardRules[] = {
    {"output_norm.*", "model.final_layernorm.*"},
    {"blk.{layer}.ffn_norm.*", "model.layers.{layer}.pre_ff_layernorm.*"},
    {"blk.{layer}.ffn_gate.*", "model.layers.{layer}.feed_forward.gate_proj.*"},
    {"blk.{layer}.ffn_up.*", "model.layers.{layer}.feed_forward.up_proj.*"},
    {"blk.{layer}.ffn_down.*", "model.layers.{layer}.feed_forward.down_proj.*"},
};
constexpr NameGroup kFeedForward{"", "", kFeedForwardRules};

// llama.cpp's own files leave out the norm's ".weight".
constexpr NameRule kFalconH1Rules[] = {{"ffn_norm", "pre_ff_layernorm.weight"}};
constexpr NameGroup kFalconH1{kBlk, kModelLayer, kFalconH1Rules};

// Mamba beside attention, with norms.
constexpr NameRule kJambaRules[] = {
    {"ssm_in.*", "mamba.in_proj.*"},
    {"ssm_conv1d.weight", "mamba.conv1d.weight", kDropMiddle},
    {"ssm_conv1d.bias", "mamba.conv1d.bias"},
    {"ssm_x.*", "mamba.x_proj.*"},
    {"ssm_dt.*", "mamba.dt_proj.*"},
    {"ssm_dt_norm.*", "mamba.dt_layernorm.*"},
    {"ssm_b_norm.*", "mamba.b_layernorm.*"},
    {"ssm_c_norm.*", "mamba.c_layernorm.*"},
    {"ssm_a", "mamba.A_log", kNegativeExp},
    {"ssm_d", "mamba.D"},
    {"ssm_out.*", "mamba.out_proj.*"},
    {"ffn_gate_inp.*", "feed_forward.router.*"},
    {"ffn_gate_exps.*", "feed_forward.experts.{expert}.gate_proj.*"},
    {"ffn_up_exps.*", "feed_forward.experts.{expert}.up_proj.*"},
    {"ffn_down_exps.*", "feed_forward.experts.{expert}.down_proj.*"},
};
constexpr NameGroup kJamba{kBlk, kModelLayer, kJambaRules};

// Each layer is one part behind one norm.
constexpr NameRule kNemotronHRules[] = {
    {"token_embd.*", "backbone.embeddings.*"},
    {"output_norm.*", "backbone.norm_f.*"},
    {"output.*", "lm_head.*"},
    {"blk.{layer}.attn_norm.*", "backbone.layers.{layer}.norm.*"},
    {"blk.{layer}.attn_q.*", "backbone.layers.{layer}.mixer.q_proj.*"},
    {"blk.{layer}.attn_k.*", "backbone.layers.{layer}.mixer.k_proj.*"},
    {"blk.{layer}.attn_v.*", "backbone.layers.{layer}.mixer.v_proj.*"},
    {"blk.{layer}.attn_output.*", "backbone.layers.{layer}.mixer.o_proj.*"},
    {"blk.{layer}.ffn_up.*", "backbone.layers.{layer}.mixer.up_proj.*"},
    {"blk.{layer}.ffn_down.*", "backbone.layers.{layer}.mixer.down_proj.*"},
    {"blk.{layer}.ffn_gate_inp.*", "backbone.layers.{layer}.mixer.gate.*"},
    {"blk.{layer}.exp_probs_b.bias", "backbone.layers.{layer}.mixer.gate.e_score_correction_bias"},
    {"blk.{layer}.ffn_up_exps.*", "backbone.layers.{layer}.mixer.experts.{expert}.up_proj.*"},
    {"blk.{layer}.ffn_down_exps.*", "backbone.layers.{layer}.mixer.experts.{expert}.down_proj.*"},
    {"blk.{layer}.ffn_up_shexp.*", "backbone.layers.{layer}.mixer.shared_experts.up_proj.*"},
    {"blk.{layer}.ffn_down_shexp.*", "backbone.layers.{layer}.mixer.shared_experts.down_proj.*"},
};
constexpr NameGroup kNemotronH{"", "", kNemotronHRules};

// The gated delta rule, with its first projections in one for each key head, or apart as newer files have them.
constexpr NameRule kQwen3NextRules[] = {
    {"output_norm.weight", "model.norm.weight", kPlusOne},
    {"blk.{layer}.attn_norm.weight", "model.layers.{layer}.input_layernorm.weight", kPlusOne},
    {"blk.{layer}.post_attention_norm.weight", "model.layers.{layer}.post_attention_layernorm.weight", kPlusOne},
    {"blk.{layer}.attn_q_norm.weight", "model.layers.{layer}.self_attn.q_norm.weight", kPlusOne},
    {"blk.{layer}.attn_k_norm.weight", "model.layers.{layer}.self_attn.k_norm.weight", kPlusOne},
    {"blk.{layer}.ssm_in.*", "model.layers.{layer}.linear_attn.in_proj_qkvz.*"},
    {"blk.{layer}.attn_qkv.*", "model.layers.{layer}.linear_attn.in_proj_qkv.*"},
    {"blk.{layer}.attn_gate.*", "model.layers.{layer}.linear_attn.in_proj_z.*"},
    {"blk.{layer}.ssm_ba.*", "model.layers.{layer}.linear_attn.in_proj_ba.*"},
    {"blk.{layer}.ssm_conv1d.weight", "model.layers.{layer}.linear_attn.conv1d.weight", kDropMiddle},
    {"blk.{layer}.ssm_a", "model.layers.{layer}.linear_attn.A_log", kNegativeExp},
    {"blk.{layer}.ssm_dt.bias", "model.layers.{layer}.linear_attn.dt_bias"},
    {"blk.{layer}.ssm_norm.*", "model.layers.{layer}.linear_attn.norm.*"},
    {"blk.{layer}.ssm_out.*", "model.layers.{layer}.linear_attn.out_proj.*"},
};
constexpr NameGroup kQwen3Next{"", "", kQwen3NextRules};

constexpr NameRule kGptOssRules[] = {
    {"attn_sinks.weight", "self_attn.sinks"},
    {"post_attention_norm.*", "post_attention_layernorm.*"},
    {"ffn_gate_inp.*", "mlp.router.*"},
    {"ffn_gate_exps.*", "mlp.experts.{expert}.gate_proj.*"},
    {"ffn_up_exps.*", "mlp.experts.{expert}.up_proj.*"},
    {"ffn_down_exps.*", "mlp.experts.{expert}.down_proj.*"},
    {"ffn_gate_exps.weight", "mlp.experts.gate_up_proj", kEvenOfTransposed},
    {"ffn_up_exps.weight", "mlp.experts.gate_up_proj", kOddOfTransposed},
    {"ffn_down_exps.weight", "mlp.experts.down_proj", kTransposed},
    {"ffn_gate_exps.bias", "mlp.experts.gate_up_proj_bias", kEven},
    {"ffn_up_exps.bias", "mlp.experts.gate_up_proj_bias", kOdd},
    {"ffn_down_exps.bias", "mlp.experts.down_proj_bias"},
};
constexpr NameGroup kGptOss{kBlk, kModelLayer, kGptOssRules};

// Gemma and Nemotron multiply by (1 + weight); GGUF stores the sum.
constexpr NameRule kGemmaRules[] = {
    {"output_norm.weight", "model.norm.weight", kPlusOne},
    {"blk.{layer}.attn_norm.weight", "model.layers.{layer}.input_layernorm.weight", kPlusOne},
    {"blk.{layer}.ffn_norm.weight", "model.layers.{layer}.post_attention_layernorm.weight", kPlusOne},
};
constexpr NameGroup kGemma{"", "", kGemmaRules};

constexpr NameRule kGemma2Rules[] = {
    {"output_norm.weight", "model.norm.weight", kPlusOne},
    {"blk.{layer}.attn_norm.weight", "model.layers.{layer}.input_layernorm.weight", kPlusOne},
    {"blk.{layer}.post_attention_norm.weight", "model.layers.{layer}.post_attention_layernorm.weight", kPlusOne},
    {"blk.{layer}.ffn_norm.weight", "model.layers.{layer}.pre_feedforward_layernorm.weight", kPlusOne},
    {"blk.{layer}.post_ffw_norm.weight", "model.layers.{layer}.post_feedforward_layernorm.weight", kPlusOne},
    {"blk.{layer}.attn_q_norm.weight", "model.layers.{layer}.self_attn.q_norm.weight", kPlusOne},
    {"blk.{layer}.attn_k_norm.weight", "model.layers.{layer}.self_attn.k_norm.weight", kPlusOne},
};
constexpr NameGroup kGemma2{"", "", kGemma2Rules};

// Norms behind the blocks only.
constexpr NameRule kOlmo2Rules[] = {
    {"post_attention_norm.*", "post_attention_layernorm.*"},
    {"post_ffw_norm.*", "post_feedforward_layernorm.*"},
};
constexpr NameGroup kOlmo2{kBlk, kModelLayer, kOlmo2Rules};

// Gemma 3n and 4: norms as they are, and embeddings that layers have for themselves.
constexpr NameRule kLayerInputRules[] = {
    {"per_layer_token_embd.*", "model.embed_tokens_per_layer.*"},
    {"per_layer_model_proj.*", "model.per_layer_model_projection.*"},
    {"per_layer_proj_norm.*", "model.per_layer_projection_norm.*"},
    {"blk.{layer}.inp_gate.*", "model.layers.{layer}.per_layer_input_gate.*"},
    {"blk.{layer}.proj.*", "model.layers.{layer}.per_layer_projection.*"},
    {"blk.{layer}.post_norm.*", "model.layers.{layer}.post_per_layer_input_norm.*"},
    {"blk.{layer}.ffn_norm.*", "model.layers.{layer}.pre_feedforward_layernorm.*"},
};
constexpr NameGroup kLayerInput{"", "", kLayerInputRules};

constexpr NameRule kAltUpRules[] = {
    {"altup_proj.weight", "model.altup_projections.{expert}.weight"},
    {"altup_unembd_proj.weight", "model.altup_unembed_projections.{expert}.weight"},
    {"blk.{layer}.altup_correct_coef.*", "model.layers.{layer}.altup.correction_coefs.*"},
    {"blk.{layer}.altup_correct_scale.weight", "model.layers.{layer}.altup.correct_output_scale"},
    {"blk.{layer}.altup_predict_coef.*", "model.layers.{layer}.altup.prediction_coefs.*"},
    {"blk.{layer}.altup_router.*", "model.layers.{layer}.altup.modality_router.*"},
    {"blk.{layer}.altup_router_norm.*", "model.layers.{layer}.altup.router_norm.*"},
    {"blk.{layer}.laurel_l.*", "model.layers.{layer}.laurel.linear_left.*"},
    {"blk.{layer}.laurel_r.*", "model.layers.{layer}.laurel.linear_right.*"},
    {"blk.{layer}.laurel_post_norm.*", "model.layers.{layer}.laurel.post_laurel_norm.*"},
};
constexpr NameGroup kAltUp{"", "", kAltUpRules};

constexpr NameRule kGemma4Rules[] = {
    {"layer_output_scale.weight", "layer_scalar"},
    {"ffn_gate_inp.weight", "router.proj.weight"},
    {"ffn_gate_inp.scale", "router.scale"},
    {"ffn_down_exps.scale", "router.per_expert_scale"},
    {"pre_ffw_norm_2.*", "pre_feedforward_layernorm_2.*"},
    {"post_ffw_norm_1.*", "post_feedforward_layernorm_1.*"},
    {"post_ffw_norm_2.*", "post_feedforward_layernorm_2.*"},
    {"ffn_gate_exps.weight", "experts.{expert}.gate_proj.weight"},
    {"ffn_up_exps.weight", "experts.{expert}.up_proj.weight"},
    {"ffn_down_exps.weight", "experts.{expert}.down_proj.weight"},
    {"ffn_gate_exps.weight", "experts.gate_up_proj", kFirstHalf},
    {"ffn_up_exps.weight", "experts.gate_up_proj", kSecondHalf},
    {"ffn_down_exps.weight", "experts.down_proj"},
};
constexpr NameGroup kGemma4{kBlk, kModelLayer, kGemma4Rules};

constexpr NameRule kLlama4Rules[] = {
    {"ffn_gate.*", "feed_forward.gate_proj.*"},
    {"ffn_up.*", "feed_forward.up_proj.*"},
    {"ffn_down.*", "feed_forward.down_proj.*"},
    {"ffn_gate_inp.*", "feed_forward.router.*"},
    {"ffn_gate_exps.weight", "feed_forward.experts.{expert}.gate_proj.weight"},
    {"ffn_up_exps.weight", "feed_forward.experts.{expert}.up_proj.weight"},
    {"ffn_down_exps.weight", "feed_forward.experts.{expert}.down_proj.weight"},
    {"ffn_gate_exps.weight", "feed_forward.experts.gate_up_proj", kFirstHalfOfTransposed},
    {"ffn_up_exps.weight", "feed_forward.experts.gate_up_proj", kSecondHalfOfTransposed},
    {"ffn_down_exps.weight", "feed_forward.experts.down_proj", kTransposed},
    {"ffn_gate_shexp.*", "feed_forward.shared_expert.gate_proj.*"},
    {"ffn_up_shexp.*", "feed_forward.shared_expert.up_proj.*"},
    {"ffn_down_shexp.*", "feed_forward.shared_expert.down_proj.*"},
};
constexpr NameGroup kLlama4{kBlk, kModelLayer, kLlama4Rules};

constexpr NameRule kPhiRules[] = {
    {"output_norm.*", "model.final_layernorm.*"},
    {"blk.{layer}.attn_output.*", "model.layers.{layer}.self_attn.dense.*"},
    {"blk.{layer}.ffn_up.*", "model.layers.{layer}.mlp.fc1.*"},
    {"blk.{layer}.ffn_down.*", "model.layers.{layer}.mlp.fc2.*"},
};
constexpr NameGroup kPhi{"", "", kPhiRules};

constexpr NameRule kPhi3Rules[] = {{"ffn_up.*", "mlp.gate_up_proj.*"}};
constexpr NameGroup kPhi3{kBlk, kModelLayer, kPhi3Rules};

constexpr NameRule kStarcoder2Rules[] = {{"ffn_up.*", "mlp.c_fc.*"}, {"ffn_down.*", "mlp.c_proj.*"}};
constexpr NameGroup kStarcoder2{kBlk, kModelLayer, kStarcoder2Rules};

// One norm per head, stacked in GGUF as experts are.
constexpr NameRule kStableLmRules[] = {
    {"attn_q_norm.weight", "self_attn.q_layernorm.norms.{expert}.weight"},
    {"attn_k_norm.weight", "self_attn.k_layernorm.norms.{expert}.weight"},
};
constexpr NameGroup kStableLm{kBlk, kModelLayer, kStableLmRules};

constexpr NameRule kSeedOssRules[] = {{"post_attention_norm.*", "post_attention_layernorm.*"}};
constexpr NameGroup kSeedOss{kBlk, kModelLayer, kSeedOssRules};

// Layers behind the model's own, which predict further tokens.
constexpr NameRule kNextnRules[] = {
    {"nextn.eh_proj.*", "eh_proj.*"},
    {"nextn.enorm.*", "enorm.*"},
    {"nextn.hnorm.*", "hnorm.*"},
    {"nextn.shared_head_norm.*", "shared_head.norm.*"},
    {"nextn.shared_head_head.*", "shared_head.head.*"},
    {"nextn.embed_tokens.*", "embed_tokens.*"},
};
constexpr NameGroup kNextn{kBlk, kModelLayer, kNextnRules};

// Multi-head latent attention.
constexpr NameRule kDeepseek2Rules[] = {
    {"attn_q_a.*", "self_attn.q_a_proj.*"},
    {"attn_q_a_norm.*", "self_attn.q_a_layernorm.*"},
    {"attn_q_b.*", "self_attn.q_b_proj.*"},
    {"attn_kv_a_mqa.*", "self_attn.kv_a_proj_with_mqa.*"},
    {"attn_kv_a_norm.*", "self_attn.kv_a_layernorm.*"},
    {"attn_k_b.weight", "self_attn.kv_b_proj.weight", kLatentKeys},
    {"attn_v_b.weight", "self_attn.kv_b_proj.weight", kLatentValues},
    {"attn_kv_b.weight", "self_attn.kv_b_proj.weight"},  // files from before 2025-04
    {"attn_k_b.weight", "self_attn.k_b_proj.weight"},    // Wick's names of the two
    {"attn_v_b.weight", "self_attn.v_b_proj.weight"},
};
constexpr NameGroup kDeepseek2{kBlk, kModelLayer, kDeepseek2Rules};

constexpr NameRule kGpt2Rules[] = {
    {"token_embd.*", "transformer.wte.*"},
    {"position_embd.*", "transformer.wpe.*"},
    {"output_norm.*", "transformer.ln_f.*"},
    {"output.*", "lm_head.*"},
    {"blk.{layer}.attn_norm.*", "transformer.h.{layer}.ln_1.*"},
    {"blk.{layer}.attn_qkv.weight", "transformer.h.{layer}.attn.c_attn.weight", kTransposed},
    {"blk.{layer}.attn_qkv.bias", "transformer.h.{layer}.attn.c_attn.bias"},
    {"blk.{layer}.attn_output.weight", "transformer.h.{layer}.attn.c_proj.weight", kTransposed},
    {"blk.{layer}.attn_output.bias", "transformer.h.{layer}.attn.c_proj.bias"},
    {"blk.{layer}.ffn_norm.*", "transformer.h.{layer}.ln_2.*"},
    {"blk.{layer}.ffn_up.weight", "transformer.h.{layer}.mlp.c_fc.weight", kTransposed},
    {"blk.{layer}.ffn_up.bias", "transformer.h.{layer}.mlp.c_fc.bias"},
    {"blk.{layer}.ffn_down.weight", "transformer.h.{layer}.mlp.c_proj.weight", kTransposed},
    {"blk.{layer}.ffn_down.bias", "transformer.h.{layer}.mlp.c_proj.bias"},
};
constexpr NameGroup kGpt2{"", "", kGpt2Rules};
// The original GPT-2 upload has no "transformer." in front.
constexpr NameRule kGpt2BareRules[] = {
    {"token_embd.*", "wte.*"},
    {"position_embd.*", "wpe.*"},
    {"output_norm.*", "ln_f.*"},
    {"blk.{layer}.attn_norm.*", "h.{layer}.ln_1.*"},
    {"blk.{layer}.attn_qkv.weight", "h.{layer}.attn.c_attn.weight", kTransposed},
    {"blk.{layer}.attn_qkv.bias", "h.{layer}.attn.c_attn.bias"},
    {"blk.{layer}.attn_output.weight", "h.{layer}.attn.c_proj.weight", kTransposed},
    {"blk.{layer}.attn_output.bias", "h.{layer}.attn.c_proj.bias"},
    {"blk.{layer}.ffn_norm.*", "h.{layer}.ln_2.*"},
    {"blk.{layer}.ffn_up.weight", "h.{layer}.mlp.c_fc.weight", kTransposed},
    {"blk.{layer}.ffn_up.bias", "h.{layer}.mlp.c_fc.bias"},
    {"blk.{layer}.ffn_down.weight", "h.{layer}.mlp.c_proj.weight", kTransposed},
    {"blk.{layer}.ffn_down.bias", "h.{layer}.mlp.c_proj.bias"},
};
constexpr NameGroup kGpt2Bare{"", "", kGpt2BareRules};

constexpr NameRule kGptNeoXRules[] = {
    {"token_embd.*", "gpt_neox.embed_in.*"},
    {"output_norm.*", "gpt_neox.final_layer_norm.*"},
    {"output.*", "embed_out.*"},
    {"blk.{layer}.attn_norm.*", "gpt_neox.layers.{layer}.input_layernorm.*"},
    {"blk.{layer}.attn_qkv.*", "gpt_neox.layers.{layer}.attention.query_key_value.*", kQkvPerHead},
    {"blk.{layer}.attn_output.*", "gpt_neox.layers.{layer}.attention.dense.*"},
    {"blk.{layer}.ffn_norm.*", "gpt_neox.layers.{layer}.post_attention_layernorm.*"},
    {"blk.{layer}.ffn_up.*", "gpt_neox.layers.{layer}.mlp.dense_h_to_4h.*"},
    {"blk.{layer}.ffn_down.*", "gpt_neox.layers.{layer}.mlp.dense_4h_to_h.*"},
};
constexpr NameGroup kGptNeoX{"", "", kGptNeoXRules};

constexpr NameRule kFalconRules[] = {
    {"token_embd.*", "transformer.word_embeddings.*"},
    {"output_norm.*", "transformer.ln_f.*"},
    {"output.*", "lm_head.*"},
    {"blk.{layer}.attn_norm.*", "transformer.h.{layer}.input_layernorm.*"},
    {"blk.{layer}.attn_norm.*", "transformer.h.{layer}.ln_mlp.*"},
    {"blk.{layer}.attn_norm_2.*", "transformer.h.{layer}.ln_attn.*"},
    {"blk.{layer}.attn_qkv.*", "transformer.h.{layer}.self_attention.query_key_value.*", kQkvPerGroup},
    {"blk.{layer}.attn_output.*", "transformer.h.{layer}.self_attention.dense.*"},
    {"blk.{layer}.ffn_up.*", "transformer.h.{layer}.mlp.dense_h_to_4h.*"},
    {"blk.{layer}.ffn_down.*", "transformer.h.{layer}.mlp.dense_4h_to_h.*"},
};
constexpr NameGroup kFalcon{"", "", kFalconRules};

constexpr NameRule kBloomRules[] = {
    {"token_embd.*", "transformer.word_embeddings.*"},
    {"token_embd_norm.*", "transformer.word_embeddings_layernorm.*"},
    {"output_norm.*", "transformer.ln_f.*"},
    {"output.*", "lm_head.*"},
    {"blk.{layer}.attn_norm.*", "transformer.h.{layer}.input_layernorm.*"},
    {"blk.{layer}.attn_qkv.*", "transformer.h.{layer}.self_attention.query_key_value.*", kQkvPerHead},
    {"blk.{layer}.attn_output.*", "transformer.h.{layer}.self_attention.dense.*"},
    {"blk.{layer}.ffn_norm.*", "transformer.h.{layer}.post_attention_layernorm.*"},
    {"blk.{layer}.ffn_up.*", "transformer.h.{layer}.mlp.dense_h_to_4h.*"},
    {"blk.{layer}.ffn_down.*", "transformer.h.{layer}.mlp.dense_4h_to_h.*"},
};
constexpr NameGroup kBloom{"", "", kBloomRules};

constexpr NameRule kLfm2Rules[] = {
    {"token_embd_norm.*", "model.embedding_norm.*"},
    {"blk.{layer}.attn_norm.*", "model.layers.{layer}.operator_norm.*"},
    {"blk.{layer}.attn_output.*", "model.layers.{layer}.self_attn.out_proj.*"},
    {"blk.{layer}.attn_q_norm.*", "model.layers.{layer}.self_attn.q_layernorm.*"},
    {"blk.{layer}.attn_k_norm.*", "model.layers.{layer}.self_attn.k_layernorm.*"},
    {"blk.{layer}.shortconv.conv.weight", "model.layers.{layer}.conv.conv.weight", kDropMiddle},
    {"blk.{layer}.shortconv.in_proj.*", "model.layers.{layer}.conv.in_proj.*"},
    {"blk.{layer}.shortconv.out_proj.*", "model.layers.{layer}.conv.out_proj.*"},
    {"blk.{layer}.ffn_norm.*", "model.layers.{layer}.ffn_norm.*"},
    {"blk.{layer}.ffn_gate.*", "model.layers.{layer}.feed_forward.w1.*"},
    {"blk.{layer}.ffn_up.*", "model.layers.{layer}.feed_forward.w3.*"},
    {"blk.{layer}.ffn_down.*", "model.layers.{layer}.feed_forward.w2.*"},
};
constexpr NameGroup kLfm2{"", "", kLfm2Rules};

constexpr NameRule kMambaRules[] = {
    {"token_embd.*", "backbone.embeddings.*"},
    {"output_norm.*", "backbone.norm_f.*"},
    {"output.*", "lm_head.*"},
    {"blk.{layer}.attn_norm.*", "backbone.layers.{layer}.norm.*"},
    {"blk.{layer}.ssm_in.*", "backbone.layers.{layer}.mixer.in_proj.*"},
    {"blk.{layer}.ssm_conv1d.weight", "backbone.layers.{layer}.mixer.conv1d.weight", kDropMiddle},
    {"blk.{layer}.ssm_conv1d.bias", "backbone.layers.{layer}.mixer.conv1d.bias"},
    {"blk.{layer}.ssm_x.*", "backbone.layers.{layer}.mixer.x_proj.*"},
    {"blk.{layer}.ssm_dt.*", "backbone.layers.{layer}.mixer.dt_proj.*"},
    {"blk.{layer}.ssm_out.*", "backbone.layers.{layer}.mixer.out_proj.*"},
};
constexpr NameGroup kMambaShared{"", "", kMambaRules};
constexpr NameRule kMamba1Rules[] = {
    {"ssm_a", "A_log", kNegativeExp},
    {"ssm_d", "D"},
};
constexpr NameGroup kMamba1{kBlk, "backbone.layers.{layer}.mixer.", kMamba1Rules};
constexpr NameRule kMamba2Rules[] = {
    {"ssm_a", "A_log", kNegativeExpColumn},
    {"ssm_d", "D", kColumn},
    {"ssm_dt.bias", "dt_bias"},
    {"ssm_norm.*", "norm.*", kGroupedRow},
};
constexpr NameGroup kMamba2{kBlk, "backbone.layers.{layer}.mixer.", kMamba2Rules};

constexpr NameRule kGlm4Rules[] = {
    {"post_attention_norm.*", "post_self_attn_layernorm.*"},
    {"post_ffw_norm.*", "post_mlp_layernorm.*"},
};
constexpr NameGroup kGlm4{kBlk, kModelLayer, kGlm4Rules};

constexpr NameRule kHunyuanRules[] = {
    {"attn_q_norm.*", "self_attn.query_layernorm.*"},
    {"attn_k_norm.*", "self_attn.key_layernorm.*"},
};
constexpr NameGroup kHunyuan{kBlk, kModelLayer, kHunyuanRules};

constexpr NameRule kMiniMaxM2Rules[] = {{"exp_probs_b.bias", "block_sparse_moe.e_score_correction_bias"}};
constexpr NameGroup kMiniMaxM2{kBlk, kModelLayer, kMiniMaxM2Rules};

constexpr NameRule kLfm2MoeRules[] = {
    {"ffn_gate_inp.*", "feed_forward.gate.*"},
    {"exp_probs_b.bias", "feed_forward.expert_bias"},
    {"ffn_gate_exps.*", "feed_forward.experts.{expert}.w1.*"},
    {"ffn_up_exps.*", "feed_forward.experts.{expert}.w3.*"},
    {"ffn_down_exps.*", "feed_forward.experts.{expert}.w2.*"},
};
constexpr NameGroup kLfm2Moe{kBlk, kModelLayer, kLfm2MoeRules};

// GPT-2's names with matrices that are not transposed.
constexpr NameRule kStarcoderRules[] = {
    {"token_embd.*", "transformer.wte.*"},
    {"position_embd.*", "transformer.wpe.*"},
    {"output_norm.*", "transformer.ln_f.*"},
    {"output.*", "lm_head.*"},
    {"blk.{layer}.attn_norm.*", "transformer.h.{layer}.ln_1.*"},
    {"blk.{layer}.attn_qkv.*", "transformer.h.{layer}.attn.c_attn.*"},
    {"blk.{layer}.attn_output.*", "transformer.h.{layer}.attn.c_proj.*"},
    {"blk.{layer}.ffn_norm.*", "transformer.h.{layer}.ln_2.*"},
    {"blk.{layer}.ffn_up.*", "transformer.h.{layer}.mlp.c_fc.*"},
    {"blk.{layer}.ffn_down.*", "transformer.h.{layer}.mlp.c_proj.*"},
};
constexpr NameGroup kStarcoder{"", "", kStarcoderRules};

using Groups = const NameGroup* const;
constexpr Groups kLlamaGroups[] = {&kRotaryPairs, &kMixtral, &kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kPlainGroups[] = {&kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kRotaryGroups[] = {&kRotaryPairs, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kMoeGroups[] = {&kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kTransposedMoeGroups[] = {&kLlamaTop, &kLlamaLayer, &kGated, &kTransposedMoe};
constexpr Groups kRotaryMoeGroups[] = {&kRotaryPairs, &kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kPhiMoeGroups[] = {&kMixtral, &kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kGemmaGroups[] = {&kGemma, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kGemma2Groups[] = {&kGemma2, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kGemma3nGroups[] = {&kOlmo2, &kLayerInput, &kAltUp, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kGemma4Groups[] = {&kOlmo2, &kLayerInput, &kGemma4, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kLlama4Groups[] = {&kLlama4, &kLlamaTop, &kLlamaLayer};
constexpr Groups kPhiGroups[] = {&kPhi, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kPhi3Groups[] = {&kPhi3, &kLlamaTop, &kLlamaLayer};
constexpr Groups kGpt2Groups[] = {&kGpt2, &kGpt2Bare};
constexpr Groups kGptNeoXGroups[] = {&kGptNeoX};
constexpr Groups kFalconGroups[] = {&kFalcon};
constexpr Groups kBloomGroups[] = {&kBloom};
constexpr Groups kOlmo2Groups[] = {&kOlmo2, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kStarcoder2Groups[] = {&kStarcoder2, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kDeepseek2Groups[] = {&kDeepseek2, &kNextn, &kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kGptOssGroups[] = {&kGptOss, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kGraniteMoeGroups[] = {&kRotaryPairs, &kGraniteMoe, &kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kGraniteHybridGroups[] = {&kRotaryPairs, &kGraniteMoe, &kGraniteShared, &kMambaPart, &kLlamaTop,
                                           &kLlamaLayer,  &kMoe};
constexpr Groups kGraniteDenseGroups[] = {&kRotaryPairs, &kGraniteDense, &kMambaPart,
                                          &kLlamaTop,    &kLlamaLayer,   &kGated};
constexpr Groups kStableLmGroups[] = {&kStableLm, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kSeedOssGroups[] = {&kSeedOss, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kLfm2Groups[] = {&kLfm2, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kJambaGroups[] = {&kJamba, &kFeedForward, &kLlamaTop, &kLlamaLayer, &kMoe};
constexpr Groups kFalconH1Groups[] = {&kFalconH1, &kFeedForward, &kMambaPart, &kLlamaTop, &kLlamaLayer};
constexpr Groups kNemotronHGroups[] = {&kNemotronH, &kNemotronMamba};
constexpr Groups kQwen3NextGroups[] = {&kQwen3Next, &kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kMambaGroups[] = {&kMamba1, &kMambaShared};
constexpr Groups kMamba2Groups[] = {&kMamba2, &kMambaShared};

constexpr Groups kGlm4Groups[] = {&kGlm4, &kPhi3, &kLlamaTop, &kLlamaLayer};
constexpr Groups kGlm4MoeGroups[] = {&kSeedOss, &kNextn, &kLlamaTop, &kLlamaLayer, &kGated, &kMoe};
constexpr Groups kHunyuanGroups[] = {&kHunyuan, &kLlamaTop, &kLlamaLayer, &kGated};
constexpr Groups kMiniMaxM2Groups[] = {&kMixtral, &kMiniMaxM2, &kLlamaTop, &kLlamaLayer, &kMoe};
constexpr Groups kLfm2MoeGroups[] = {&kLfm2, &kLfm2Moe, &kLlamaTop, &kLlamaLayer, &kMoe};
constexpr Groups kStarcoderGroups[] = {&kStarcoder};

// Encoders.
constexpr NameRule kBertTopRules[] = {
    {"token_embd.*", "embeddings.word_embeddings.*"},
    {"position_embd.*", "embeddings.position_embeddings.*"},
    {"token_types.*", "embeddings.token_type_embeddings.*"},
    {"token_embd_norm.*", "embeddings.LayerNorm.*"},
};
constexpr NameGroup kBertTop{"", "", kBertTopRules};
constexpr NameRule kBertLayerRules[] = {
    {"attn_q.*", "attention.self.query.*"},
    {"attn_k.*", "attention.self.key.*"},
    {"attn_v.*", "attention.self.value.*"},
    {"attn_output.*", "attention.output.dense.*"},
    {"attn_output_norm.*", "attention.output.LayerNorm.*"},
    {"ffn_up.*", "intermediate.dense.*"},
    {"ffn_down.*", "output.dense.*"},
    {"layer_output_norm.*", "output.LayerNorm.*"},
};
constexpr NameGroup kBertLayer{kBlk, "encoder.layer.{layer}.", kBertLayerRules};

constexpr NameRule kJinaBertLayerRules[] = {
    {"attn_q.*", "attention.self.query.*"},
    {"attn_k.*", "attention.self.key.*"},
    {"attn_v.*", "attention.self.value.*"},
    {"attn_output.*", "attention.output.dense.*"},
    {"attn_output_norm.*", "attention.output.LayerNorm.*"},
    {"ffn_gate.*", "mlp.gate_layers.*"},
    {"ffn_up.*", "mlp.up_layers.*"},
    {"ffn_down.*", "mlp.wo.*"},
    {"layer_output_norm.*", "mlp.layernorm.*"},
};
constexpr NameGroup kJinaBertLayer{kBlk, "encoder.layer.{layer}.", kJinaBertLayerRules};

constexpr NameRule kNomicBertTopRules[] = {
    {"token_embd.*", "embeddings.word_embeddings.*"},
    {"token_types.*", "embeddings.token_type_embeddings.*"},
    {"token_embd_norm.*", "emb_ln.*"},
};
constexpr NameGroup kNomicBertTop{"", "", kNomicBertTopRules};
constexpr NameRule kNomicBertLayerRules[] = {
    {"attn_qkv.*", "attn.Wqkv.*"},      {"attn_output.*", "attn.out_proj.*"}, {"attn_output_norm.*", "norm1.*"},
    {"ffn_up.*", "mlp.fc11.*"},         {"ffn_gate.*", "mlp.fc12.*"},         {"ffn_down.*", "mlp.fc2.*"},
    {"layer_output_norm.*", "norm2.*"},
};
constexpr NameGroup kNomicBertLayer{kBlk, "encoder.layers.{layer}.", kNomicBertLayerRules};

constexpr NameRule kT5TopRules[] = {
    {"token_embd.*", "shared.*"},
    {"output.*", "lm_head.*"},
    {"enc.output_norm.*", "encoder.final_layer_norm.*"},
    {"dec.output_norm.*", "decoder.final_layer_norm.*"},
};
constexpr NameGroup kT5Top{"", "", kT5TopRules};
constexpr NameRule kT5AttentionRules[] = {
    {"attn_norm.*", "layer_norm.*"},   {"attn_q.*", "SelfAttention.q.*"},
    {"attn_k.*", "SelfAttention.k.*"}, {"attn_v.*", "SelfAttention.v.*"},
    {"attn_o.*", "SelfAttention.o.*"}, {"attn_rel_b.*", "SelfAttention.relative_attention_bias.*"},
};
constexpr NameGroup kT5EncoderAttention{"enc.blk.{layer}.", "encoder.block.{layer}.layer.0.", kT5AttentionRules};
constexpr NameGroup kT5DecoderAttention{"dec.blk.{layer}.", "decoder.block.{layer}.layer.0.", kT5AttentionRules};
constexpr NameRule kT5CrossRules[] = {
    {"cross_attn_norm.*", "layer_norm.*"},     {"cross_attn_q.*", "EncDecAttention.q.*"},
    {"cross_attn_k.*", "EncDecAttention.k.*"}, {"cross_attn_v.*", "EncDecAttention.v.*"},
    {"cross_attn_o.*", "EncDecAttention.o.*"},
};
constexpr NameGroup kT5Cross{"dec.blk.{layer}.", "decoder.block.{layer}.layer.1.", kT5CrossRules};
constexpr NameRule kT5MlpRules[] = {
    {"ffn_norm.*", "layer_norm.*"},        {"ffn_gate.*", "DenseReluDense.wi_0.*"},
    {"ffn_up.*", "DenseReluDense.wi_1.*"}, {"ffn_up.*", "DenseReluDense.wi.*"},  // without a gate
    {"ffn_down.*", "DenseReluDense.wo.*"},
};
constexpr NameGroup kT5EncoderMlp{"enc.blk.{layer}.", "encoder.block.{layer}.layer.1.", kT5MlpRules};
constexpr NameGroup kT5DecoderMlp{"dec.blk.{layer}.", "decoder.block.{layer}.layer.2.", kT5MlpRules};

constexpr Groups kBertGroups[] = {&kBertTop, &kBertLayer};
constexpr Groups kJinaBertGroups[] = {&kBertTop, &kJinaBertLayer};
constexpr Groups kNomicBertGroups[] = {&kNomicBertTop, &kNomicBertLayer};
constexpr Groups kT5Groups[] = {&kT5Top,   &kT5EncoderAttention, &kT5DecoderAttention,
                                &kT5Cross, &kT5EncoderMlp,       &kT5DecoderMlp};

struct ArchitectureGroups {
  std::string_view architecture;
  std::span<Groups> groups;
};
constexpr ArchitectureGroups kTable[] = {
    {"llama", kLlamaGroups},
    {"qwen2", kPlainGroups},
    {"qwen2moe", kMoeGroups},
    {"qwen3", kPlainGroups},
    {"qwen3moe", kMoeGroups},
    {"gemma", kGemmaGroups},
    {"gemma2", kGemma2Groups},
    {"gemma3", kGemma2Groups},
    {"gemma3n", kGemma3nGroups},
    {"gemma4", kGemma4Groups},
    {"llama4", kLlama4Groups},
    {"phi2", kPhiGroups},
    {"phi3", kPhi3Groups},
    {"phimoe", kPhiMoeGroups},
    {"gpt2", kGpt2Groups},
    {"gptneox", kGptNeoXGroups},
    {"falcon", kFalconGroups},
    {"olmo", kRotaryGroups},
    {"olmo2", kOlmo2Groups},
    {"olmoe", kMoeGroups},
    {"starcoder2", kStarcoder2Groups},
    {"stablelm", kStableLmGroups},
    {"deepseek", kRotaryMoeGroups},
    {"deepseek2", kDeepseek2Groups},
    {"gpt-oss", kGptOssGroups},
    {"command-r", kPlainGroups},
    {"cohere2", kPlainGroups},
    {"granite", kRotaryGroups},
    {"granitemoe", kGraniteMoeGroups},
    {"smollm3", kRotaryGroups},
    {"lfm2", kLfm2Groups},
    {"mamba", kMambaGroups},
    {"mamba2", kMamba2Groups},
    {"bloom", kBloomGroups},
    {"seed_oss", kSeedOssGroups},
    {"arcee", kRotaryGroups},
    {"nemotron", kGemmaGroups},
    {"glm4", kGlm4Groups},
    {"glm4moe", kGlm4MoeGroups},
    {"dots1", kMoeGroups},
    {"exaone4", kOlmo2Groups},
    {"hunyuan-dense", kHunyuanGroups},
    {"minimax-m2", kMiniMaxM2Groups},
    {"lfm2moe", kLfm2MoeGroups},
    {"starcoder", kStarcoderGroups},
    {"bert", kBertGroups},
    {"nomic-bert", kNomicBertGroups},
    {"jina-bert-v2", kJinaBertGroups},
    {"gemma-embedding", kGemma2Groups},
    {"t5", kT5Groups},
    {"t5encoder", kT5Groups},
    {"granitehybrid", kGraniteHybridGroups},
    {"granitehybrid-dense", kGraniteDenseGroups},
    // By model_type: of these Wick knows no GGUF, but they have more than one form.
    {"qwen3_5_moe", kMoeGroups},
    {"qwen3_5_moe_text", kMoeGroups},
    {"jamba", kJambaGroups},
    {"falcon-h1", kFalconH1Groups},
    {"nemotron_h", kNemotronHGroups},
    {"nemotron_h_moe", kNemotronHGroups},
    {"qwen3next", kQwen3NextGroups},
    {"qwen3_vl_moe_text", kMoeGroups},
    {"qwen3_vl_moe_text-transposed", kTransposedMoeGroups},
};

}  // namespace

std::span<const NameGroup* const> name_groups(std::string_view gguf_architecture) {
  for (const ArchitectureGroups& row : kTable) {
    if (row.architecture == gguf_architecture) return row.groups;
  }
  return {};
}

}  // namespace wick
