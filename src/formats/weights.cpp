#include "formats/weights.h"

#include "base/error.h"
#include "base/text.h"
#include "formats/architectures.h"
#include "formats/convert_weight.h"
#include "formats/fused_weights.h"
#include "formats/gguf/gguf_config.h"
#include "formats/layout_copy.h"
#include "formats/name_table.h"
#include "formats/names.h"

namespace wick {
namespace {

constexpr int64_t kMostHeads = 1 << 20;  // of heads, groups and experts: sums and products of counts stay small

int64_t first_of(const Json& config, std::initializer_list<std::string_view> names, int64_t fallback) {
  for (const std::string_view name : names) {
    const Json* member = config.is_object() ? config.find(name) : nullptr;
    if (!member || !member->is_int()) continue;
    if (const int64_t count = member->as_int(); count >= 0 && count <= kMostHeads) return count;
    throw Error(ErrorCode::kBadFile, cat(member->place(), " is ", member->as_int(), ", which is out of range"));
  }
  return fallback;
}

// Joining quantised parts keeps one order of inputs for all; act-order gives each its own.
Tensor common_order(const std::vector<LoadedWeight>& parts, std::string_view name) {
  for (const LoadedWeight& part : parts) {
    if (part.input_order.defined()) {
      throw Error(ErrorCode::kUnsupported,
                  cat("the parts of '", name, "' order their inputs by themselves (act-order); load them one by one"));
    }
  }
  return {};
}

std::vector<Tensor> weights_of(const std::vector<LoadedWeight>& parts) {
  std::vector<Tensor> tensors;
  tensors.reserve(parts.size());
  for (const LoadedWeight& part : parts) tensors.push_back(part.weight);
  return tensors;
}

Tensor expert_slice(const Tensor& stack, int expert, std::string_view name) {
  if (stack.rank() < 2 || expert >= stack.dim(0)) {
    throw Error(ErrorCode::kBadFile, cat("'", name, "' is ", stack.shape(), " and has no expert ", expert));
  }
  const Layout slice = stack.layout().narrow(0, expert, 1);
  return stack.with_layout(slice.squeeze(0));
}

}  // namespace

HeadCounts head_counts(const Json& config) {
  HeadCounts counts;
  counts.heads = first_of(config, {"num_attention_heads", "n_head", "num_heads", "n_heads"}, 0);
  counts.kv_heads = first_of(config, {"num_key_value_heads", "num_kv_heads", "n_head_kv"}, counts.heads);
  counts.state_groups = first_of(config, {"n_groups", "mamba_n_groups"}, 1);
  counts.latent_key_dim = first_of(config, {"qk_nope_head_dim"}, 0);
  const std::string type = config.is_object() ? config.get("model_type", "") : "";
  const bool falcon = type == "falcon" && !config.get("new_decoder_architecture", false);
  if (falcon || type == "gpt_bigcode") {
    counts.kv_heads = config.get("multi_query", true) ? 1 : counts.heads;
  }
  return counts;
}

int64_t expert_count(const Json& config) {
  return first_of(config, {"num_local_experts", "num_experts", "n_routed_experts"}, 0);
}

namespace {

// Whether stacked experts are [experts, in, out], by the shape of the way down.
bool has_transposed_experts(const Checkpoint& checkpoint, const Json& text) {
  const int64_t hidden = text.get("hidden_size", int64_t{0}), inner = text.get("moe_intermediate_size", int64_t{0});
  for (const TensorEntry& entry : checkpoint.entries()) {
    if (!entry.name.ends_with(".mlp.experts.down_proj") || entry.shape.rank() != 3) continue;
    return hidden != inner && entry.shape[1] == inner && entry.shape[2] == hidden;
  }
  return false;
}

}  // namespace

WeightSource::WeightSource(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {
  config_ = is_gguf() ? config_from_gguf(checkpoint_) : checkpoint_.config();
  if (!is_gguf()) quant_ = read_quant_config(config_, checkpoint_.folder());
  if (!config_.is_object()) return;
  const Json& text = text_config(config_);
  architecture_ = text.get("model_type", "");
  if (const Architecture* known = find_architecture(architecture_)) architecture_ = known->gguf;
  // Two architectures of GGUF may be one model_type.
  if (is_gguf() && !name_groups(checkpoint_.metadata().text("general.architecture")).empty()) {
    architecture_ = checkpoint_.metadata().text("general.architecture");
  }
  counts_ = wick::head_counts(text);
  experts_ = expert_count(text);
  if (architecture_ == "granitehybrid" && experts_ == 0) architecture_ = "granitehybrid-dense";
  if (architecture_ == "qwen3_vl_moe_text" && has_transposed_experts(checkpoint_, text)) {
    architecture_ = "qwen3_vl_moe_text-transposed";
  }
}

void WeightSource::forget(std::string_view stored_name) const {
  if (const TensorEntry* entry = checkpoint_.find(stored_name)) checkpoint_.forget(*entry);
}

void WeightSource::forget_bytes(const std::byte* begin, int64_t bytes) const {
  for (size_t i = 0; i < checkpoint_.files().size(); ++i) {
    const auto file = checkpoint_.files()[i]->bytes();
    if (begin < file.data() || begin >= file.data() + file.size()) continue;
    TensorEntry entry;
    entry.file = static_cast<int>(i);
    entry.offset = begin - file.data();
    entry.bytes = bytes;
    checkpoint_.forget(entry);
  }
}

std::optional<LoadedWeight> WeightSource::find(std::string_view hf_name) const {
  const Load load = resolve(hf_name);
  if (!load) return std::nullopt;
  return load();
}

LoadedWeight WeightSource::get(std::string_view hf_name) const {
  if (auto found = find(hf_name)) return std::move(*found);
  const auto& files = checkpoint_.files();
  throw Error(ErrorCode::kInvalidArgument, cat(files.empty() ? "" : files.front()->path().string(),
                                               ": there is no tensor '", hf_name, "', nor another form of it"));
}

WeightSource::Load WeightSource::resolve(std::string_view name) const {
  if (Load load = direct(name)) return load;
  if (Load load = from_fused(name)) return load;
  if (Load load = from_parts(name)) return load;
  if (Load load = from_latent(name)) return load;
  return from_experts(name);
}

WeightSource::Load WeightSource::direct(std::string_view name) const {
  if (is_gguf()) return from_gguf(name);
  if (Load load = as_stored(name)) return load;
  return from_alias(name);
}

WeightSource::Load WeightSource::as_stored(std::string_view name) const {
  if (auto found = packed(name)) {
    return [this, found = std::move(*found)] {
      LoadedWeight loaded = found.load();
      for (const std::string& part : found.parts) forget(part);
      return loaded;
    };
  }
  const TensorEntry* entry = checkpoint_.find(name);
  if (!entry) return {};
  return [this, entry] { return LoadedWeight{checkpoint_.get(*entry), {}}; };
}

std::optional<PackedWeight> WeightSource::packed(std::string_view name) const {
  return is_gguf() ? std::nullopt : find_packed_weight(checkpoint_, quant_, name);
}

std::optional<Shape> WeightSource::stored_shape(std::string_view name) const {
  if (is_gguf()) return {};
  if (const auto found = packed(name)) return found->shape;
  const TensorEntry* entry = checkpoint_.find(name);
  return entry ? std::optional(entry->shape) : std::nullopt;
}

WeightSource::Load WeightSource::from_gguf(std::string_view name) const {
  for (const NameMatch& match : gguf_matches(architecture_, name)) {
    if (!checkpoint_.find(match.name) || is_part(match.change)) continue;
    return [this, match] {
      Tensor tensor = take(match.name);
      if (match.expert) tensor = expert_slice(tensor, *match.expert, match.name);
      const Tensor as_hf = to_hf(tensor, match.change, counts_, match.name);
      if (as_hf.raw() != tensor.raw()) forget(match.name);
      return LoadedWeight{as_hf, {}};
    };
  }
  // Names that the table does not know can still be asked for as they are.
  if (checkpoint_.find(name)) return [this, name = std::string(name)] { return LoadedWeight{take(name), {}}; };
  return {};
}

WeightSource::Load WeightSource::from_alias(std::string_view name) const {
  // Beside an encoder, the names of the text model begin with more.
  constexpr std::string_view kBeside = "model.language_model.", kAlone = "model.";
  const bool is_beside = name.starts_with(kBeside);
  const std::string alone = is_beside ? cat(kAlone, name.substr(kBeside.size())) : std::string(name);
  for (HfAlias alias : hf_aliases(architecture_, alone)) {
    if (is_part(alias.back)) continue;
    if (is_beside && alias.name.starts_with(kAlone)) alias.name = cat(kBeside, alias.name.substr(kAlone.size()));
    const Load stored = as_stored(alias.name);
    if (!stored) continue;
    return [this, alias, stored] {
      LoadedWeight loaded = stored();
      if (alias.change == alias.back && !alias.expert) return loaded;
      Tensor tensor = to_gguf(loaded.weight, alias.change, counts_, alias.name);
      if (alias.expert) tensor = expert_slice(tensor, *alias.expert, alias.name);
      tensor = to_hf(tensor, alias.back, counts_, alias.name);
      // Halves of a stack are whole rows; every second column has to be collected.
      const bool rows = alias.change == ByteChange::kFirstHalf || alias.change == ByteChange::kSecondHalf ||
                        alias.change == ByteChange::kLatentKeys || alias.change == ByteChange::kLatentValues;
      if (is_part(alias.change) && !rows) {
        tensor = compact(tensor);
        forget_bytes(loaded.weight);
      }
      loaded.weight = tensor;
      return loaded;
    };
  }
  return {};
}

WeightSource::Load WeightSource::from_fused(std::string_view name) const {
  for (const FusedPart& part : fused_wholes(name)) {
    FusedRows rows = part.rows;
    if (rows == FusedRows::kQkvPerGroup && architecture_ == "bloom") rows = FusedRows::kQkvPerHead;
    if (rows == FusedRows::kQkvColumns && architecture_ == "starcoder") {
      rows = counts_.kv_heads == 1 ? FusedRows::kQkv : FusedRows::kQkvPerHead;
    }
    HeadCounts counts = counts_;
    if (rows == FusedRows::kQkvPerHead || rows == FusedRows::kQkvColumns) counts.kv_heads = counts.heads;
    Load load;
    if (is_gguf()) {
      // In GGUF every fused tensor keeps all q, all k, all v.
      if (rows != FusedRows::kHalves) rows = FusedRows::kQkv;
      for (const NameMatch& match : gguf_matches(architecture_, part.whole)) {
        if (load || !checkpoint_.find(match.name)) continue;
        load = [this, match] { return LoadedWeight{take(match.name), {}}; };
      }
    } else {
      load = direct(part.whole);
    }
    if (!load) continue;
    return [load, rows, counts, part] {
      LoadedWeight loaded = load();
      loaded.weight = take_part(loaded.weight, rows, part.index, counts, part.whole);
      return loaded;
    };
  }
  return {};
}

WeightSource::Load WeightSource::from_parts(std::string_view name) const {
  std::vector<Load> loads;
  for (const std::string& part : fused_parts(name)) {
    Load load = direct(part);
    if (!load) return {};
    loads.push_back(std::move(load));
  }
  if (loads.empty()) return {};
  return [this, loads, name = std::string(name)] {
    std::vector<LoadedWeight> parts;
    parts.reserve(loads.size());
    for (const Load& load : loads) parts.push_back(load());
    LoadedWeight joined{join_rows(weights_of(parts), 0), common_order(parts, name)};
    for (const LoadedWeight& part : parts) forget_bytes(part.weight);
    return joined;
  };
}

// Keys and values of latent attention, which newer GGUF files keep apart, as the one matrix of Hugging Face.
WeightSource::Load WeightSource::from_latent(std::string_view name) const {
  constexpr std::string_view kBoth = ".kv_b_proj.weight";
  if (!is_gguf() || !name.ends_with(kBoth)) return {};
  const std::string stem(name.substr(0, name.size() - kBoth.size()));
  const Load keys = direct(stem + ".k_b_proj.weight"), values = direct(stem + ".v_b_proj.weight");
  if (!keys || !values) return {};
  return [keys, values, stem] {
    // Packed keys cannot be transposed without opening them; both parts then become f16.
    Tensor key = keys().weight, value = values().weight;
    if (key.rank() != 3 || value.rank() != 3 || key.dim(0) != value.dim(0) || key.dim(1) != value.dim(2)) {
      throw Error(ErrorCode::kBadFile,
                  cat("'", stem, "': keys ", key.shape(), " and values ", value.shape(), " do not belong together"));
    }
    const DType dtype = is_packed(key.dtype()) || key.dtype() != value.dtype() ? DType::kF16 : key.dtype();
    key = convert_tensor(key, dtype);
    const Tensor parts[] = {key.with_layout(key.layout().transpose(1, 2)), convert_tensor(value, dtype)};
    const Tensor joined = join_rows(parts, 1);
    const Shape flat{joined.dim(0) * joined.dim(1), joined.dim(2)};
    return LoadedWeight{joined.with_layout(Layout::contiguous(flat)), {}};
  };
}

WeightSource::Load WeightSource::from_experts(std::string_view name) const {
  constexpr std::string_view kExperts = ".experts.";
  const size_t place = name.find(kExperts);
  if (place == std::string_view::npos || experts_ <= 0) return {};
  const std::string before(name.substr(0, place + kExperts.size())), after(name.substr(place + kExperts.size()));
  if (after.empty() || (after[0] >= '0' && after[0] <= '9')) return {};
  if (!resolve(cat(before, 0, ".", after))) return {};
  return [this, before, after, name = std::string(name)] {
    std::vector<LoadedWeight> parts;
    for (int64_t expert = 0; expert < experts_; ++expert) {
      const std::string numbered = cat(before, expert, ".", after);
      const Load load = resolve(numbered);
      if (!load)
        throw Error(ErrorCode::kBadFile, cat("'", numbered, "' is missing; there should be ", experts_, " experts"));
      parts.push_back(load());
    }
    LoadedWeight stacked{stack_parts(weights_of(parts)), common_order(parts, name)};
    for (const LoadedWeight& part : parts) forget_bytes(part.weight);
    return stacked;
  };
}

std::vector<std::string> WeightSource::names() const {
  std::vector<std::string> names;
  const auto add = [&](std::string name) {
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  };
  for (const TensorEntry& entry : checkpoint_.entries()) {
    const std::string_view name = entry.name;
    if (is_gguf()) {
      add(hf_name(architecture_, name).value_or(entry.name));
    } else if (auto part = part_of_weight(checkpoint_, quant_, name)) {
      if (part->has_codes) add(std::move(part->weight));
    } else {
      add(entry.name);
    }
  }
  return names;
}

}  // namespace wick
