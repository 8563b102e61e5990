#include "models/registry.h"

#include "models/families/families.h"
#include "models/recurrent/mamba.h"
#include "models/recurrent/mamba2.h"
#include "models/recurrent/rwkv.h"

namespace wick {
namespace {

constexpr Family kFamilies[] = {
    {"cohere", "Cohere Command R", cohere_config},
    {"cohere2", "Cohere Command R7B", cohere_config},
    {"ernie4_5", "ERNIE 4.5", interleaved_config},
    {"falcon", "Falcon", falcon_config},
    {"gemma", "Gemma", gemma_config},
    {"gemma2", "Gemma 2", gemma2_config},
    {"gemma3_text", "Gemma 3", gemma3_config},
    {"gemma3", "Gemma 3, its text part", gemma3_config},
    {"glm", "GLM 4 (2024)", glm_config},
    {"gpt2", "GPT-2", gpt2_config},
    {"gpt_neox", "GPT-NeoX, Pythia", gpt_neox_config},
    {"gpt_oss", "gpt-oss", gpt_oss_config},
    {"granite", "Granite", granite_config},
    {"helium", "Helium", interleaved_config},
    {"lfm2", "LFM2", lfm2_config},
    {"llama", "Llama 1 to 3, TinyLlama, SmolLM, Yi and others", llama_config},
    {"mamba", "Mamba", nullptr, make_mamba},
    {"mamba2", "Mamba 2, Codestral Mamba", nullptr, make_mamba2},
    {"mistral", "Mistral, Ministral, Nemo", mistral_config},
    {"mixtral", "Mixtral", mixtral_config},
    {"olmo", "OLMo", olmo_config},
    {"olmo2", "OLMo 2", olmo2_config},
    {"olmo3", "OLMo 3", olmo2_config},
    {"olmoe", "OLMoE", olmoe_config},
    {"phi", "Phi 1 and 2", phi_config},
    {"phi3", "Phi 3 and 4", phi3_config},
    {"qwen2", "Qwen 2 and 2.5", qwen2_config},
    {"qwen2_moe", "Qwen 2 with experts", qwen2_moe_config},
    {"qwen3", "Qwen 3", qwen3_config},
    {"qwen3_moe", "Qwen 3 with experts", qwen3_moe_config},
    {"rwkv", "RWKV 4", nullptr, make_rwkv},
    {"smollm3", "SmolLM 3", smollm3_config},
    {"stablelm", "StableLM", stablelm_config},
    {"starcoder2", "StarCoder 2", starcoder2_config},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family* find_family(std::string_view model_type) {
  for (const Family& family : kFamilies) {
    if (family.model_type == model_type) return &family;
  }
  return nullptr;
}

}  // namespace wick
