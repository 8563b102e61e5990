#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/terminal.h"
#include "formats/checkpoint.h"
#include "models/load_model.h"

namespace wick {

// What the settings of a model say; empty where they do not.
struct InspectFacts {
  std::string architecture;  // "qwen3": model_type of config.json, general.architecture of GGUF
  std::string model_class;   // "Qwen3ForCausalLM"
  std::string name;          // general.name
  std::optional<int64_t> layers, hidden, feed_forward, heads, kv_heads, head_dim, vocabulary, context, window;
  std::optional<int64_t> experts, experts_used;
  std::vector<std::pair<std::string, std::string>> parts;  // "vision": "siglip_vision_model, 12 layers, hidden 768"
  bool generates = false;                                  // keeps a KV cache
};

// Tensors that have something in common: a type, or a place in the model.
struct Share {
  std::string name;
  int64_t tensors = 0, weights = 0, bytes = 0;

  double bits_per_weight() const {
    return weights ? 8.0 * static_cast<double>(bytes) / static_cast<double>(weights) : 0;
  }
};

struct TokenizerSummary {
  std::string kind;  // "BPE, byte-level"
  int64_t size = 0;  // tokens; 0: not known
};

struct MemoryNeed {
  int64_t context = 0;  // tokens
  int64_t weights = 0;
  std::optional<int64_t> kv_cache;  // empty: the model keeps none, or it is not known
};

// Whether Wick can run the model, found out from names and settings.
struct LoadOutlook {
  std::optional<ModelPlan> plan;  // empty: there is a reason
  std::string reason;             // why no plan can be made; not necessarily a fault: the model may not write text

  bool ok() const { return plan && plan->preflight.ok(); }
};

// Everything `wick inspect` knows; text and JSON are two views of it.
struct InspectReport {
  std::string path, format;  // "GGUF", "safetensors"
  Checkpoint checkpoint;
  InspectFacts facts;
  Share total;
  std::vector<Share> types;   // by falling bytes
  std::vector<Share> groups;  // embedding, attention, ...; none of them empty
  std::optional<TokenizerSummary> tokenizer;
  std::optional<std::string> chat_template;
  MemoryNeed memory;
  LoadOutlook loading;
  Json quantization;                  // config.json's quantization_config; null when there is none
  std::vector<std::string> problems;  // what could not be understood, one sentence each
};

struct InspectOptions {
  bool tensors = false, metadata = false;
  std::optional<int64_t> context;  // for the memory; else the model's own, 4096 at most
};

// Throws Error naming what is wrong with the weights; what is wrong beside them becomes a problem of the report.
InspectReport make_inspect_report(const std::filesystem::path& path, const InspectOptions& options);
nlohmann::ordered_json to_json(const InspectReport& report, const InspectOptions& options);
std::string to_text(const InspectReport& report, const InspectOptions& options, const Terminal& terminal);

// The parts of a report.
LoadOutlook load_outlook(const Checkpoint& checkpoint);
std::string to_text(const LoadOutlook& outlook, const Terminal& terminal);
nlohmann::ordered_json to_json(const LoadOutlook& outlook);
InspectFacts model_facts(const Checkpoint& checkpoint, const Json& config);
// The largest count that the settings allow for `context` tokens, in 16 bits; empty when there is no such cache.
std::optional<int64_t> kv_cache_bytes(const InspectFacts& facts, const Json& config, int64_t context);
std::optional<TokenizerSummary> summarise_tokenizer(const Checkpoint& checkpoint);
std::optional<std::string> find_chat_template(const Checkpoint& checkpoint);
std::string tensor_group(std::string_view name, const Shape& shape);

}  // namespace wick
