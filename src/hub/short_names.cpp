#include "hub/short_names.h"

#include "base/ascii.h"

namespace wick {
namespace {

constexpr ShortName kShortNames[] = {
    {"smollm2-135m", "HuggingFaceTB/SmolLM2-135M-Instruct"},
    {"smollm2-360m", "HuggingFaceTB/SmolLM2-360M-Instruct"},
    {"smollm2-1.7b", "HuggingFaceTB/SmolLM2-1.7B-Instruct"},
    {"tinyllama", "TinyLlama/TinyLlama-1.1B-Chat-v1.0"},
    {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B-Instruct"},
    {"qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B-Instruct"},
    {"qwen2.5-7b", "Qwen/Qwen2.5-7B-Instruct"},
    {"qwen3-0.6b", "Qwen/Qwen3-0.6B"},
    {"qwen3-1.7b", "Qwen/Qwen3-1.7B"},
    {"qwen3-4b", "Qwen/Qwen3-4B"},
    {"qwen3-8b", "Qwen/Qwen3-8B"},
    {"gemma3-270m", "google/gemma-3-270m-it"},
    {"gemma3-1b", "google/gemma-3-1b-it"},
    {"llama3.2-1b", "meta-llama/Llama-3.2-1B-Instruct"},
    {"llama3.2-3b", "meta-llama/Llama-3.2-3B-Instruct"},
    {"llama3.1-8b", "meta-llama/Llama-3.1-8B-Instruct"},
    {"mistral-7b", "mistralai/Mistral-7B-Instruct-v0.3"},
    {"phi4-mini", "microsoft/Phi-4-mini-instruct"},
    {"whisper-tiny", "openai/whisper-tiny"},
    {"whisper-base", "openai/whisper-base"},
    {"whisper-small", "openai/whisper-small"},
    {"whisper-large-v3-turbo", "openai/whisper-large-v3-turbo"},
    {"qwen3-asr-0.6b", "Qwen/Qwen3-ASR-0.6B"},
    {"qwen3-asr-1.7b", "Qwen/Qwen3-ASR-1.7B"},
    {"minilm", "sentence-transformers/all-MiniLM-L6-v2"},
    {"bge-small", "BAAI/bge-small-en-v1.5"},
    {"qwen3-embedding-0.6b", "Qwen/Qwen3-Embedding-0.6B"},
    {"qwen3-reranker-0.6b", "Qwen/Qwen3-Reranker-0.6B"},
};

}  // namespace

std::span<const ShortName> short_names() { return kShortNames; }

std::string_view repo_of_short_name(std::string_view name) {
  const std::string lower = lower_ascii(name);
  for (const ShortName& known : kShortNames) {
    if (known.name == lower) return known.repo;
  }
  return {};
}

}  // namespace wick
