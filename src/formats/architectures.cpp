#include "formats/architectures.h"

#include <algorithm>

namespace wick {
namespace {

using Names = std::string_view;

constexpr std::string_view kSilu = R"("hidden_act": "silu")";
constexpr std::string_view kGelu = R"("hidden_act": "gelu")";
constexpr std::string_view kGeluNew = R"("hidden_act": "gelu_new")";
constexpr std::string_view kGemma = R"("hidden_act": "gelu_pytorch_tanh", "hidden_activation": "gelu_pytorch_tanh")";

constexpr Names kLlama[] = {"llama", "mistral"};
constexpr Names kMixtral[] = {"mixtral"};
constexpr Names kQwen2[] = {"qwen2"};
constexpr Names kQwen2Moe[] = {"qwen2_moe"};
constexpr Names kQwen3[] = {"qwen3"};
constexpr Names kQwen3Moe[] = {"qwen3_moe"};
constexpr Names kGemma1[] = {"gemma"};
constexpr Names kGemma2[] = {"gemma2"};
constexpr Names kGemma3[] = {"gemma3_text", "gemma3"};
constexpr Names kGemma3n[] = {"gemma3n_text", "gemma3n"};
constexpr Names kGemma4[] = {"gemma4_text", "gemma4"};
constexpr Names kLlama4[] = {"llama4_text", "llama4"};
constexpr Names kPhi[] = {"phi"};
constexpr Names kPhi3[] = {"phi3"};
constexpr Names kPhiMoe[] = {"phimoe"};
constexpr Names kGpt2[] = {"gpt2"};
constexpr Names kGptNeoX[] = {"gpt_neox"};
constexpr Names kFalcon[] = {"falcon", "RefinedWeb", "RefinedWebModel"};
constexpr Names kOlmo[] = {"olmo"};
constexpr Names kOlmo2[] = {"olmo2", "olmo3"};
constexpr Names kOlmoe[] = {"olmoe"};
constexpr Names kStarcoder2[] = {"starcoder2"};
constexpr Names kStableLm[] = {"stablelm", "stablelm_epoch"};
constexpr Names kDeepseek[] = {"deepseek"};
constexpr Names kDeepseek2[] = {"deepseek_v3", "deepseek_v2"};
constexpr Names kGptOss[] = {"gpt_oss"};
constexpr Names kCohere[] = {"cohere"};
constexpr Names kCohere2[] = {"cohere2"};
constexpr Names kGranite[] = {"granite"};
constexpr Names kGraniteMoe[] = {"granitemoe"};
constexpr Names kGraniteHybrid[] = {"granitemoehybrid"};
constexpr Names kSmolLm3[] = {"smollm3"};
constexpr Names kLfm2[] = {"lfm2"};
constexpr Names kMamba[] = {"mamba"};
constexpr Names kMamba2[] = {"mamba2"};
constexpr Names kBloom[] = {"bloom"};
constexpr Names kSeedOss[] = {"seed_oss"};
constexpr Names kArcee[] = {"arcee"};
constexpr Names kNemotron[] = {"nemotron"};
constexpr Names kGlm4[] = {"glm4"};
constexpr Names kGlm4Moe[] = {"glm4_moe"};
constexpr Names kDots1[] = {"dots1"};
constexpr Names kExaone4[] = {"exaone4"};
constexpr Names kHunyuan[] = {"hunyuan_v1_dense"};
constexpr Names kMiniMaxM2[] = {"minimax_m2"};
constexpr Names kLfm2Moe[] = {"lfm2_moe"};
constexpr Names kStarcoder[] = {"gpt_bigcode"};
constexpr Names kJamba[] = {"jamba"};
constexpr Names kFalconH1[] = {"falcon_h1"};
constexpr Names kNemotronH[] = {"nemotron_h"};
constexpr Names kQwen3Next[] = {"qwen3_next"};
constexpr Names kBert[] = {"bert"};
constexpr Names kNomicBert[] = {"nomic_bert"};
constexpr Names kT5[] = {"t5", "mt5", "umt5"};

// Mixtral files carry the architecture "llama" and an expert count; the row after it is chosen by that.
constexpr Architecture kArchitectures[] = {
    {"llama", kLlama, "LlamaForCausalLM", kSilu},
    {"llama", kMixtral, "MixtralForCausalLM", kSilu},
    {"qwen2", kQwen2, "Qwen2ForCausalLM", kSilu},
    {"qwen2moe", kQwen2Moe, "Qwen2MoeForCausalLM", R"("hidden_act": "silu", "norm_topk_prob": false)"},
    {"qwen3", kQwen3, "Qwen3ForCausalLM", kSilu},
    {"qwen3moe", kQwen3Moe, "Qwen3MoeForCausalLM", R"("hidden_act": "silu", "norm_topk_prob": true)"},
    {"gemma", kGemma1, "GemmaForCausalLM", kGemma},
    {"gemma2", kGemma2, "Gemma2ForCausalLM", kGemma},
    {"gemma3", kGemma3, "Gemma3ForCausalLM", kGemma},
    {"gemma3n", kGemma3n, "Gemma3nForCausalLM", kGemma},
    {"gemma4", kGemma4, "Gemma4ForCausalLM", kGemma},
    {"llama4", kLlama4, "Llama4ForCausalLM", kSilu},
    {"phi2", kPhi, "PhiForCausalLM", kGeluNew},
    {"phi3", kPhi3, "Phi3ForCausalLM", kSilu},
    {"phimoe", kPhiMoe, "PhiMoEForCausalLM", kSilu},
    {"gpt2", kGpt2, "GPT2LMHeadModel", R"("activation_function": "gelu_new")"},
    {"gptneox", kGptNeoX, "GPTNeoXForCausalLM", kGelu},
    {"falcon", kFalcon, "FalconForCausalLM", R"("activation": "gelu", "alibi": false, "bias": false,
        "parallel_attn": true)"},
    {"olmo", kOlmo, "OlmoForCausalLM", kSilu},
    {"olmo2", kOlmo2, "Olmo2ForCausalLM", kSilu},
    {"olmoe", kOlmoe, "OlmoeForCausalLM", R"("hidden_act": "silu", "norm_topk_prob": false)"},
    {"starcoder2", kStarcoder2, "Starcoder2ForCausalLM", R"("hidden_act": "gelu_pytorch_tanh", "use_bias": true)"},
    {"stablelm", kStableLm, "StableLmForCausalLM", kSilu},
    {"deepseek", kDeepseek, "DeepseekForCausalLM", kSilu},
    {"deepseek2", kDeepseek2, "DeepseekV3ForCausalLM", kSilu},
    {"gpt-oss", kGptOss, "GptOssForCausalLM", kSilu},
    {"command-r", kCohere, "CohereForCausalLM", kSilu},
    {"cohere2", kCohere2, "Cohere2ForCausalLM", kSilu},
    {"granite", kGranite, "GraniteForCausalLM", kSilu},
    {"granitemoe", kGraniteMoe, "GraniteMoeForCausalLM", kSilu},
    {"granitehybrid", kGraniteHybrid, "GraniteMoeHybridForCausalLM", kSilu},
    {"smollm3", kSmolLm3, "SmolLM3ForCausalLM", kSilu},
    {"lfm2", kLfm2, "Lfm2ForCausalLM", R"("conv_bias": false, "block_auto_adjust_ff_dim": false)"},
    {"mamba", kMamba, "MambaForCausalLM", kSilu},
    {"mamba2", kMamba2, "Mamba2ForCausalLM", kSilu},
    {"bloom", kBloom, "BloomForCausalLM", R"("apply_residual_connection_post_layernorm": false)"},
    {"seed_oss", kSeedOss, "SeedOssForCausalLM", kSilu},
    {"arcee", kArcee, "ArceeForCausalLM", R"("hidden_act": "relu2")"},
    {"nemotron", kNemotron, "NemotronForCausalLM", R"("hidden_act": "relu2")"},
    {"glm4", kGlm4, "Glm4ForCausalLM", kSilu},
    {"glm4moe", kGlm4Moe, "Glm4MoeForCausalLM", kSilu},
    {"dots1", kDots1, "Dots1ForCausalLM", kSilu},
    {"exaone4", kExaone4, "Exaone4ForCausalLM", kSilu},
    {"hunyuan-dense", kHunyuan, "HunYuanDenseV1ForCausalLM", kSilu},
    {"minimax-m2", kMiniMaxM2, "MiniMaxM2ForCausalLM", kSilu},
    {"lfm2moe", kLfm2Moe, "Lfm2MoeForCausalLM", R"("conv_bias": false)"},
    {"jamba", kJamba, "JambaForCausalLM", kSilu},
    {"falcon-h1", kFalconH1, "FalconH1ForCausalLM", kSilu},
    {"nemotron_h", kNemotronH, "NemotronHForCausalLM", R"("mlp_hidden_act": "relu2")"},
    {"nemotron_h_moe", kNemotronH, "NemotronHForCausalLM", R"("mlp_hidden_act": "relu2")"},
    {"qwen3next", kQwen3Next, "Qwen3NextForCausalLM", R"("hidden_act": "silu", "norm_topk_prob": true)"},
    {"bert", kBert, "BertModel", kGelu},
    {"jina-bert-v2", kBert, "JinaBertModel", R"("hidden_act": "gelu", "position_embedding_type": "alibi",
        "feed_forward_type": "geglu")"},
    {"gemma-embedding", kGemma3, "Gemma3TextModel", R"("hidden_act": "gelu_pytorch_tanh",
        "hidden_activation": "gelu_pytorch_tanh", "use_bidirectional_attention": true)"},
    {"nomic-bert", kNomicBert, "NomicBertModel", R"("activation_function": "swiglu")"},
    {"t5", kT5, "T5ForConditionalGeneration", {}},
    {"t5encoder", kT5, "T5EncoderModel", {}},
    {"starcoder", kStarcoder, "GPTBigCodeForCausalLM", R"("activation_function": "gelu_pytorch_tanh")"},
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture* find_architecture(std::string_view name) {
  for (const Architecture& row : kArchitectures) {
    if (std::find(row.model_types.begin(), row.model_types.end(), name) != row.model_types.end()) return &row;
  }
  for (const Architecture& row : kArchitectures) {
    if (row.gguf == name) return &row;
  }
  return nullptr;
}

}  // namespace wick
