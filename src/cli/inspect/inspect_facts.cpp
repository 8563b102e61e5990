#include <algorithm>
#include <initializer_list>
#include <span>

#include "base/checked.h"
#include "base/text.h"
#include "cli/inspect/inspect_report.h"
#include "formats/architectures.h"
#include "formats/gguf/gguf_config.h"
#include "formats/tensor_role.h"

namespace wick {
namespace {

using Names = std::span<const std::string_view>;

// The first of these members that is a whole number.
std::optional<int64_t> integer(const Json& config, Names names) {
  if (!config.is_object()) return std::nullopt;
  for (const std::string_view name : names) {
    const Json* member = config.find(name);
    if (member && member->is_int()) return member->as_int();
  }
  return std::nullopt;
}

std::optional<int64_t> integer(const Json& config, std::initializer_list<std::string_view> names) {
  return integer(config, Names(names.begin(), names.size()));
}

std::string text(const Json& config, std::string_view name) {
  const Json* member = config.is_object() ? config.find(name) : nullptr;
  return member && member->is_text() ? member->as_text() : "";
}

constexpr std::string_view kLayers[] = {"num_hidden_layers", "n_layer",        "n_layers",
                                        "num_layers",        "encoder_layers", "depth"};
constexpr std::string_view kHidden[] = {"hidden_size", "n_embd", "d_model", "dim", "embed_dim"};

std::string describe_part(const Json& part) {
  std::string out = text(part, "model_type");
  const auto add = [&](std::string_view before, std::optional<int64_t> value, std::string_view after) {
    if (value) out += cat(out.empty() ? "" : ", ", before, *value, after);
  };
  add("", integer(part, kLayers), " layers");
  add("hidden ", integer(part, kHidden), "");
  add("images of ", integer(part, {"image_size"}), " pixels");
  add("", integer(part, {"num_mel_bins"}), " mel bins");
  return out;
}

std::string first_class(const Json& config) {
  const Json* classes = config.is_object() ? config.find("architectures") : nullptr;
  if (classes && classes->is_array() && !classes->as_array().empty() && classes->as_array().front().is_text()) {
    return classes->as_array().front().as_text();
  }
  return text(config, "_class_name");  // diffusers
}

// Layers as the names of the tensors number them.
std::optional<int64_t> counted_layers(const Checkpoint& checkpoint) {
  std::optional<int64_t> last;
  for (const TensorEntry& entry : checkpoint.entries()) {
    if (const auto layer = layer_of(entry.name)) last = std::max(last.value_or(0), *layer);
  }
  return last ? std::optional(*last + 1) : std::nullopt;
}

bool generates_text(const InspectFacts& facts, const Json& config) {
  const Json* two_parts = config.is_object() ? config.find("is_encoder_decoder") : nullptr;
  if (two_parts && two_parts->is_bool() && two_parts->as_bool()) return false;
  const auto named = [&](std::string_view part) { return facts.model_class.find(part) != std::string::npos; };
  return find_architecture(facts.architecture) || named("CausalLM") || named("LMHead") ||
         (named("ConditionalGeneration") && config.is_object() && config.find("text_config"));
}

}  // namespace

InspectFacts model_facts(const Checkpoint& checkpoint, const Json& config) {
  InspectFacts facts;
  if (checkpoint.kind() == Checkpoint::Kind::kGguf) {
    const Metadata& metadata = checkpoint.metadata();
    const auto known_text = [&](std::string_view key) {
      const MetaValue* value = metadata.find(key);
      return value && value->type == MetaType::kText ? std::get<std::string>(value->value) : std::string();
    };
    facts.architecture = known_text("general.architecture");
    facts.name = known_text("general.name");
  } else {
    facts.architecture = text(config, "model_type");
  }
  facts.model_class = first_class(config);
  const Json nothing;
  const Json& inner = config.is_object() ? text_config(config) : nothing;
  facts.layers = integer(inner, kLayers);
  if (!facts.layers) facts.layers = counted_layers(checkpoint);
  facts.hidden = integer(inner, kHidden);
  facts.feed_forward = integer(inner, {"intermediate_size", "n_inner", "ffn_dim", "d_ff", "encoder_ffn_dim"});
  facts.heads = integer(inner, {"num_attention_heads", "n_head", "num_heads", "encoder_attention_heads"});
  facts.kv_heads = integer(inner, {"num_key_value_heads", "num_kv_heads", "n_head_kv"});
  if (!facts.kv_heads) facts.kv_heads = facts.heads;
  facts.head_dim = integer(inner, {"head_dim", "d_kv"});
  if (!facts.head_dim && facts.hidden && facts.heads && *facts.heads > 0) facts.head_dim = *facts.hidden / *facts.heads;
  facts.vocabulary = integer(inner, {"vocab_size"});
  facts.context = integer(inner, {"max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length",
                                  "max_target_positions", "seq_length"});
  facts.window = integer(inner, {"sliding_window"});
  facts.experts = integer(inner, {"num_local_experts", "num_experts", "n_routed_experts"});
  facts.experts_used = integer(inner, {"num_experts_per_tok", "num_experts_per_token", "moe_topk"});
  for (const std::string_view part : {"vision", "audio", "encoder", "decoder"}) {
    const Json* settings = config.is_object() ? config.find(cat(part, "_config")) : nullptr;
    if (!settings || !settings->is_object()) continue;
    const std::string about = describe_part(*settings);
    if (!about.empty()) facts.parts.emplace_back(part, about);
  }
  facts.generates = generates_text(facts, config);
  return facts;
}

namespace {

// Gemma 4: its full layers keep keys and values of another size than those with a window.
bool has_heads_of_two_sizes(const Json& config) {
  const Json* own = config.find("per_layer_config");
  if (own && own->is_object()) return !own->as_object().empty();
  const std::string type = text(config, "model_type");
  return type == "gemma4_text" || integer(config, {"global_head_dim"});
}

}  // namespace

std::optional<int64_t> kv_cache_bytes(const InspectFacts& facts, const Json& config, int64_t context) {
  constexpr int64_t kBytesPerNumber = 2;
  if (!facts.generates || !facts.layers || !config.is_object()) return std::nullopt;
  const Json& inner = text_config(config);
  std::optional<int64_t> numbers;  // per token and layer
  const auto rank = integer(inner, {"kv_lora_rank"});
  if (rank && *rank > 0) {
    numbers = checked_add(*rank, integer(inner, {"qk_rope_head_dim"}).value_or(0));
  } else if (facts.kv_heads && facts.head_dim) {
    const auto half = checked_mul(*facts.kv_heads, *facts.head_dim);
    numbers = half ? checked_mul(*half, 2) : std::nullopt;
  }
  if (!numbers || *numbers <= 0) return std::nullopt;

  const Json* types = inner.find("layer_types");
  int64_t tokens = 0;  // that all layers keep together
  if (types && types->is_array()) {
    const int64_t shared = integer(inner, {"num_kv_shared_layers"}).value_or(0);
    const int64_t layers = std::ssize(types->as_array()),
                  own = shared > 0 && shared < layers ? layers - shared : layers;
    const int64_t chunk = integer(inner, {"attention_chunk_size"}).value_or(context);
    for (int64_t i = 0; i < own; ++i) {
      const std::string& kind = types->as_array()[static_cast<size_t>(i)].as_text();
      if (kind == "full_attention") tokens += context;
      if (kind == "chunked_attention") tokens += std::min(context, chunk);
      if (kind == "sliding_attention") tokens += std::min(context, facts.window.value_or(context));
    }
    if (has_heads_of_two_sizes(inner)) return std::nullopt;
  } else {
    const auto all = checked_mul(*facts.layers, context);
    if (!all) return std::nullopt;
    tokens = *all;
  }
  const auto count = checked_mul(tokens, *numbers);
  return count ? checked_mul(*count, kBytesPerNumber) : std::nullopt;
}

}  // namespace wick
