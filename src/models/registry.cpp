#include "models/registry.h"

#include "base/error.h"
#include "base/text.h"
#include "models/families/families.h"

namespace wick {
namespace {

constexpr Family kFamilies[] = {
    {"apertus", "Apertus", apertus_config},
    {"arcee", "Arcee AFM", arcee_config},
    {"bamba", "Bamba", bamba_config},
    {"bitnet", "BitNet b1.58", bitnet_config},
    {"bloom", "BLOOM", bloom_config},
    {"codegen", "CodeGen", gptj_config},
    {"cohere", "Cohere Command R", cohere_config},
    {"cohere2", "Cohere Command R7B", cohere_config},
    {"deepseek_v2", "DeepSeek V2", deepseek_v2_config},
    {"deepseek_v3", "DeepSeek V3 and R1", deepseek_v3_config},
    {"diffllama", "DiffLlama", diffllama_config},
    {"dots1", "dots.llm1", dots1_config},
    {"ernie4_5", "ERNIE 4.5", interleaved_config},
    {"ernie4_5_moe", "ERNIE 4.5 with experts", ernie4_5_moe_config},
    {"exaone4", "EXAONE 4", exaone4_config},
    {"falcon", "Falcon", falcon_config},
    {"falcon_h1", "Falcon H1", falcon_h1_config},
    {"falcon_mamba", "Falcon Mamba", mamba_config},
    {"gemma", "Gemma", gemma_config},
    {"gemma2", "Gemma 2", gemma2_config},
    {"gemma3", "Gemma 3, its text part", gemma3_config},
    {"gemma3_text", "Gemma 3", gemma3_config},
    {"gemma3n_text", "Gemma 3n, its text part", gemma3n_config},
    {"gemma4_text", "Gemma 4, its text part", gemma4_config},
    {"glm", "GLM 4 (2024)", glm_config},
    {"glm4", "GLM 4 (2025)", glm4_config},
    {"glm4_moe", "GLM 4.5 and 4.6", glm4_moe_config},
    {"gpt2", "GPT-2", gpt2_config},
    {"gpt_bigcode", "StarCoder, SantaCoder", gpt_bigcode_config},
    {"gpt_neo", "GPT-Neo", gpt_neo_config},
    {"gpt_neox", "GPT-NeoX, Pythia", gpt_neox_config},
    {"gpt_oss", "gpt-oss", gpt_oss_config},
    {"gptj", "GPT-J", gptj_config},
    {"granite", "Granite", granite_config},
    {"granitemoe", "Granite with experts", granitemoe_config},
    {"granitemoehybrid", "Granite 4", granitemoehybrid_config},
    {"helium", "Helium", interleaved_config},
    {"hunyuan_v1_dense", "Hunyuan, dense", hunyuan_v1_dense_config},
    {"jamba", "Jamba", jamba_config},
    {"lfm2", "LFM2", lfm2_config},
    {"lfm2_moe", "LFM2 with experts", lfm2_moe_config},
    {"llama", "Llama 1 to 3, TinyLlama, SmolLM, Yi and others", llama_config},
    {"llama4_text", "Llama 4, its text part", llama4_config},
    {"mamba", "Mamba", mamba_config},
    {"mamba2", "Mamba 2, Codestral Mamba", mamba2_config},
    {"minimax_m2", "MiniMax M2", minimax_m2_config},
    {"ministral3", "Ministral 3", ministral3_config},
    {"mistral", "Mistral, Ministral, Nemo", mistral_config},
    {"mixtral", "Mixtral", mixtral_config},
    {"mpt", "MPT", mpt_config},
    {"nanochat", "nanochat", nanochat_config},
    {"nemotron", "Nemotron, Minitron", nemotron_config},
    {"nemotron_h", "Nemotron H, Nemotron Nano 2 and 3", nemotron_h_config},
    {"olmo", "OLMo", olmo_config},
    {"olmo2", "OLMo 2", olmo2_config},
    {"olmo3", "OLMo 3", olmo2_config},
    {"olmoe", "OLMoE", olmoe_config},
    {"opt", "OPT", opt_config},
    {"persimmon", "Persimmon", persimmon_config},
    {"phi", "Phi 1 and 2", phi_config},
    {"phi3", "Phi 3 and 4", phi3_config},
    {"phimoe", "Phi 3.5 with experts", phimoe_config},
    {"qwen2", "Qwen 2 and 2.5", qwen2_config},
    {"qwen2_5_vl", "Qwen 2.5 VL, its text part", qwen2_5_vl_config},
    {"qwen2_5_vl_text", "Qwen 2.5 VL", qwen2_5_vl_config},
    {"qwen2_moe", "Qwen 2 with experts", qwen2_moe_config},
    {"qwen3", "Qwen 3", qwen3_config},
    {"qwen3_5", "Qwen 3.5, its text part", qwen3_5_config},
    {"qwen3_5_moe", "Qwen 3.5 with experts, its text part", qwen3_5_config},
    {"qwen3_5_moe_text", "Qwen 3.5 with experts", qwen3_5_config},
    {"qwen3_5_text", "Qwen 3.5", qwen3_5_config},
    {"qwen3_moe", "Qwen 3 with experts", qwen3_moe_config},
    {"qwen3_next", "Qwen3-Next", qwen3_next_config},
    {"recurrent_gemma", "Recurrent Gemma (Griffin)", recurrent_gemma_config},
    {"qwen3_vl_moe_text", "Qwen3-VL with experts", qwen3_vl_moe_config},
    {"qwen3_vl_text", "Qwen3-VL", qwen3_vl_config},
    {"rwkv", "RWKV 4", rwkv_config},
    {"seed_oss", "Seed-OSS", seed_oss_config},
    {"smollm3", "SmolLM 3", smollm3_config},
    {"stablelm", "StableLM", stablelm_config},
    {"starcoder2", "StarCoder 2", starcoder2_config},
    {"vaultgemma", "VaultGemma", vaultgemma_config},
    {"xlstm", "xLSTM", xlstm_config},
};

struct Refused {
  std::string_view model_type, missing;
};
constexpr std::string_view kTwoModels = "decoder of this family that looks at an encoder";
constexpr Refused kRefused[] = {
    {"bigbird_pegasus", "attention in windows with global tokens"},
    {"blenderbot", kTwoModels},
    {"blenderbot-small", kTwoModels},
    {"blip", "decoder of this family that looks at a picture"},
    {"blip_text_model", "decoder of this family that looks at a picture"},
    {"encoder-decoder", kTwoModels},
    {"fsmt", kTwoModels},
    {"led", "attention in windows with global tokens"},
    {"longt5", "attention in windows with global tokens"},
    {"nllb-moe", kTwoModels},
    {"prophetnet", kTwoModels},
    {"switch_transformers", kTwoModels},
    {"t5gemma", kTwoModels},
};

}  // namespace

void check_not_refused(std::string_view model_type) {
  for (const Refused& refused : kRefused) {
    if (refused.model_type != model_type) continue;
    throw Error(ErrorCode::kUnsupported,
                cat("the model_type '", model_type, "' is not supported: Wick has no ", refused.missing));
  }
}

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

}  // namespace wick
