#include "base/error.h"
#include "cli/inspect/inspect_report.h"
#include "cli/inspect/inspect_values.h"

namespace wick {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson optional(const std::optional<int64_t>& value) { return value ? OrderedJson(*value) : OrderedJson(); }

OrderedJson text_or_null(const std::string& text) { return text.empty() ? OrderedJson() : OrderedJson(text); }

OrderedJson share_json(const Share& share) {
  return {{"name", share.name},
          {"tensors", share.tensors},
          {"parameters", share.weights},
          {"bytes", share.bytes},
          {"bits_per_weight", share.bits_per_weight()}};
}

OrderedJson shares_json(const std::vector<Share>& shares) {
  OrderedJson out = OrderedJson::array();
  for (const Share& share : shares) out.push_back(share_json(share));
  return out;
}

OrderedJson facts_json(const InspectFacts& facts) {
  OrderedJson parts = OrderedJson::object();
  for (const auto& [name, about] : facts.parts) parts[name] = about;
  return {{"architecture", text_or_null(facts.architecture)},
          {"class", text_or_null(facts.model_class)},
          {"name", text_or_null(facts.name)},
          {"layers", optional(facts.layers)},
          {"hidden", optional(facts.hidden)},
          {"feed_forward", optional(facts.feed_forward)},
          {"heads", optional(facts.heads)},
          {"kv_heads", optional(facts.kv_heads)},
          {"head_dim", optional(facts.head_dim)},
          {"experts", optional(facts.experts)},
          {"experts_used", optional(facts.experts_used)},
          {"vocabulary", optional(facts.vocabulary)},
          {"context", optional(facts.context)},
          {"window", optional(facts.window)},
          {"parts", parts}};
}

OrderedJson copy(const Json& json) {
  if (json.is_object()) {
    OrderedJson out = OrderedJson::object();
    for (const auto& [name, member] : json.as_object()) out[name] = copy(member);
    return out;
  }
  if (json.is_array()) {
    OrderedJson out = OrderedJson::array();
    for (const Json& item : json.as_array()) out.push_back(copy(item));
    return out;
  }
  if (json.is_bool()) return json.as_bool();
  if (json.is_int()) return json.as_int();
  if (json.is_number()) return json.as_number();
  if (json.is_text()) return json.as_text();
  return {};
}

OrderedJson tensors_json(const Checkpoint& checkpoint) {
  OrderedJson out = OrderedJson::array();
  for (const TensorEntry& entry : checkpoint.entries()) {
    OrderedJson shape = OrderedJson::array();
    for (int i = 0; i < entry.shape.rank(); ++i) shape.push_back(entry.shape[i]);
    out.push_back({{"name", entry.name},
                   {"type", entry.type},
                   {"shape", shape},
                   {"bytes", entry.bytes},
                   {"file", checkpoint.files()[entry.file]->path().filename().string()},
                   {"offset", entry.offset}});
  }
  return out;
}

}  // namespace

OrderedJson to_json(const InspectReport& report, const InspectOptions& options) {
  OrderedJson files = OrderedJson::array();
  for (const auto& file : report.checkpoint.files()) {
    files.push_back({{"name", file->path().filename().string()}, {"bytes", file->bytes().size()}});
  }
  OrderedJson tokenizer;
  if (report.tokenizer) {
    tokenizer = {{"kind", report.tokenizer->kind},
                 {"size", report.tokenizer->size ? OrderedJson(report.tokenizer->size) : OrderedJson()}};
  }
  const MemoryNeed& memory = report.memory;
  OrderedJson metadata = OrderedJson::object();
  for (const auto& [key, value] : report.checkpoint.metadata().items()) {
    metadata[key] = {{"type", type_text(value)}, {"value", value_json(key, value, options.metadata)}};
  }
  return {
      {"path", report.path},
      {"format", report.format},
      {"files", files},
      {"model", facts_json(report.facts)},
      {"total", share_json(report.total)},
      {"types", shares_json(report.types)},
      {"groups", shares_json(report.groups)},
      {"quantization_config", copy(report.quantization)},
      {"tokenizer", tokenizer},
      {"chat_template", report.chat_template ? OrderedJson(*report.chat_template) : OrderedJson()},
      {"memory", {{"context", memory.context}, {"weights", memory.weights}, {"kv_cache", optional(memory.kv_cache)}}},
      {"loading", to_json(report.loading)},
      {"problems", report.problems},
      {"metadata", metadata},
      {"tensors", tensors_json(report.checkpoint)}};
}

}  // namespace wick
