#include "cli/inspect/inspect_report.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "formats/gguf/gguf_config.h"
#include "formats/packed/packed_weight.h"

namespace wick {
namespace {

constexpr int64_t kUsualContext = 4096;
constexpr std::array<std::string_view, 10> kGroups = {"embedding", "attention", "mlp",    "experts", "state",
                                                      "norms",     "output",    "vision", "audio",   "other"};

// Codes and scales of weights that are stored in pieces: what counts as a weight, and under which type.
class Counter {
 public:
  Counter(const Checkpoint& file, const Json& config) : file_(&file) {
    if (!config.is_object()) return;
    try {
      config_ = read_quant_config(config, file.folder());
    } catch (const Error&) {  // which loading tells of
    }
  }

  // The weights that a tensor stands for, and the type to count them under.
  std::pair<int64_t, std::string> weights(const TensorEntry& entry) const {
    if (config_.method == QuantConfig::Method::kNone) return {entry.shape.numel(), entry.type};
    const auto part = part_of_weight(*file_, config_, entry.name);
    const int64_t weights = part && !part->has_codes ? 0 : entry.shape.numel();
    try {
      const auto packed = find_packed_weight(*file_, config_, part ? part->weight : entry.name);
      if (packed) return {weights == 0 ? 0 : packed->shape.numel(), type(packed->dtype)};
    } catch (const Error&) {  // likewise
    }
    return {weights, entry.type};
  }

 private:
  std::string type(DType dtype) const {
    if (config_.method == QuantConfig::Method::kGptq) return cat("GPTQ ", config_.bits, " bit");
    if (config_.method == QuantConfig::Method::kAwq) return cat("AWQ ", config_.bits, " bit");
    std::string name(to_string(dtype));
    for (char& letter : name) letter = letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 32) : letter;
    return name;
  }

  const Checkpoint* file_;
  QuantConfig config_;
};

Share& share_named(std::vector<Share>& shares, const std::string& name) {
  const auto found = std::find_if(shares.begin(), shares.end(), [&](const Share& share) { return share.name == name; });
  if (found != shares.end()) return *found;
  return shares.emplace_back(Share{name});
}

void add(Share& share, int64_t weights, int64_t bytes) {
  ++share.tensors;
  share.weights += weights;
  share.bytes += bytes;
}

void count_tensors(InspectReport& report, const Json& config) {
  const Counter counter(report.checkpoint, config);
  for (const std::string_view group : kGroups) report.groups.push_back({std::string(group)});
  for (const TensorEntry& entry : report.checkpoint.entries()) {
    const auto [weights, type] = counter.weights(entry);
    add(report.total, weights, entry.bytes);
    add(share_named(report.types, type), weights, entry.bytes);
    add(share_named(report.groups, tensor_group(entry.name, entry.shape)), weights, entry.bytes);
  }
  std::erase_if(report.groups, [](const Share& share) { return share.tensors == 0; });
  std::stable_sort(report.types.begin(), report.types.end(),
                   [](const Share& a, const Share& b) { return a.bytes > b.bytes; });
}

// Runs `read`; what it throws is a problem of the report.
template <typename Read>
void attempt(InspectReport& report, const Read& read) {
  try {
    read();
  } catch (const Error& error) {
    report.problems.emplace_back(error.what());
  }
}

}  // namespace

InspectReport make_inspect_report(const std::filesystem::path& path, const InspectOptions& options) {
  InspectReport report;
  report.path = path.string();
  report.checkpoint = Checkpoint::open(path);
  const bool is_gguf = report.checkpoint.kind() == Checkpoint::Kind::kGguf;
  const bool is_ggml = report.checkpoint.kind() == Checkpoint::Kind::kGgmlWhisper;
  report.format = is_gguf ? "GGUF" : is_ggml ? "ggml of whisper.cpp" : "safetensors";
  Json config;
  attempt(report, [&] { config = is_gguf ? config_from_gguf(report.checkpoint) : report.checkpoint.config(); });
  attempt(report, [&] { report.facts = model_facts(report.checkpoint, config); });
  if (!is_gguf && config.is_object()) {
    const Json* settings = config.find("quantization_config");
    if (settings && settings->is_object()) report.quantization = *settings;
  }
  count_tensors(report, is_gguf ? Json() : config);
  attempt(report, [&] { report.tokenizer = summarise_tokenizer(report.checkpoint); });
  attempt(report, [&] { report.chat_template = find_chat_template(report.checkpoint); });
  const int64_t own = std::clamp<int64_t>(report.facts.context.value_or(kUsualContext), 1, kUsualContext);
  report.memory = {options.context.value_or(own), report.total.bytes, std::nullopt};
  attempt(report, [&] { report.memory.kv_cache = kv_cache_bytes(report.facts, config, report.memory.context); });
  report.loading = load_outlook(report.checkpoint);
  return report;
}

}  // namespace wick
