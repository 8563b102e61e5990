#include "cli/inspect_report.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "formats/gguf_config.h"

namespace wick {
namespace {

constexpr int64_t kUsualContext = 4096;
constexpr std::array<std::string_view, 10> kGroups = {"embedding", "attention", "mlp",    "experts", "state",
                                                      "norms",     "output",    "vision", "audio",   "other"};

// Codes and scales of weights that are stored in pieces: what counts as a weight, and under which type.
class Counter {
 public:
  explicit Counter(const Json& quantization) {
    if (!quantization.is_object()) return;
    const Json* method = quantization.find("quant_method");
    if (method && method->is_text()) method_ = method->as_text();
    for (const std::string_view name : {"bits", "w_bit"}) {
      const Json* bits = quantization.find(name);
      if (bits && bits->is_int() && bits->as_int() >= 1 && bits->as_int() <= 32) bits_ = bits->as_int();
    }
  }

  int64_t weights(const TensorEntry& entry) const {
    const std::string_view name = entry.name;
    const int64_t count = entry.shape.numel();
    if (in_groups() && name.ends_with(".qweight")) return count * (32 / bits_);
    if (method_ == "mxfp4" && name.ends_with("_blocks")) return count * 2;
    return is_extra(name) ? 0 : count;
  }

  std::string type(const TensorEntry& entry) const {
    const std::string_view name = entry.name;
    if (in_groups() && (name.ends_with(".qweight") || is_extra(name))) return cat(upper(method_), " ", bits_, " bit");
    if (method_ == "mxfp4" && (name.ends_with("_blocks") || name.ends_with("_scales"))) return "MXFP4";
    return entry.type;
  }

 private:
  bool in_groups() const { return method_ == "gptq" || method_ == "awq"; }

  bool is_extra(std::string_view name) const {
    if (method_.empty()) return false;
    for (const std::string_view end :
         {".qzeros", ".scales", ".g_idx", "_scales", "_scale", "_scale_inv", "_zero_point"}) {
      if (name.ends_with(end)) return true;
    }
    return false;
  }

  static std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
    return text;
  }

  std::string method_;
  int64_t bits_ = 4;
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

void count_tensors(InspectReport& report) {
  const Counter counter(report.quantization);
  for (const std::string_view group : kGroups) report.groups.push_back({std::string(group)});
  for (const TensorEntry& entry : report.checkpoint.entries()) {
    const int64_t weights = counter.weights(entry);
    add(report.total, weights, entry.bytes);
    add(share_named(report.types, counter.type(entry)), weights, entry.bytes);
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
  count_tensors(report);
  attempt(report, [&] { report.tokenizer = summarise_tokenizer(report.checkpoint); });
  attempt(report, [&] { report.chat_template = find_chat_template(report.checkpoint); });
  const int64_t own = std::clamp<int64_t>(report.facts.context.value_or(kUsualContext), 1, kUsualContext);
  report.memory = {options.context.value_or(own), report.total.bytes, std::nullopt};
  attempt(report, [&] { report.memory.kv_cache = kv_cache_bytes(report.facts, config, report.memory.context); });
  report.loading = load_outlook(report.checkpoint);
  return report;
}

}  // namespace wick
