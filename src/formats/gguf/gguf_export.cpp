#include "formats/gguf/gguf_export.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "formats/convert_weight.h"
#include "formats/gguf/gguf_config.h"
#include "formats/layout_copy.h"
#include "formats/names.h"
#include "tensor/create.h"

namespace wick {
namespace {

using enum ByteChange;

// Buffers that old checkpoints carry and no model needs.
bool is_leftover(std::string_view name) {
  for (const std::string_view end : {".rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias", ".attention.bias",
                                     ".attention.masked_bias", ".rotary_emb.cos_cached", ".rotary_emb.sin_cached"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

struct Stored {
  Shape shape;
  DType dtype;
};

// What WeightSource::get would give, without reading it.
Stored stored_form(const WeightSource& source, std::string_view name) {
  if (const auto packed = source.packed(name)) return {packed->shape, packed->dtype};
  const TensorEntry* entry = source.checkpoint().find(name);
  if (!entry) throw Error(ErrorCode::kBadFile, cat("'", name, "' is not a matrix that Wick can read"));
  if (entry->dtype) return {entry->shape, *entry->dtype};
  throw Error(ErrorCode::kUnsupported, cat("'", name, "' has the type ", entry->type, ", which Wick does not read"));
}

Shape gguf_shape(const Shape& hf, ByteChange change, const HeadCounts& counts, std::string_view name) {
  const int rank = hf.rank();
  const bool is_stack = change == kEvenOfTransposed || change == kOddOfTransposed || change == kFirstHalfOfTransposed ||
                        change == kSecondHalfOfTransposed;
  const int least = change == kDropMiddle || is_stack ? 3 : change == kTransposed || is_part(change) ? 2 : 0;
  if (rank < least) throw Error(ErrorCode::kBadFile, cat("'", name, "' is ", hf, ", expected ", least, " dimensions"));
  const auto swapped = [&] { return hf.with(rank - 2, hf[rank - 1]).with(rank - 1, hf[rank - 2]); };
  switch (change) {
    case kTransposed: return swapped();
    case kDropMiddle: return {hf[0], hf[2]};
    case kColumn:
    case kNegativeExpColumn: return {hf.numel(), 1};
    case kGroupedRow: return {counts.state_groups, hf.numel() / std::max<int64_t>(1, counts.state_groups)};
    case kLatentKeys:
    case kLatentValues: {
      const int64_t dim = hf[0] / std::max<int64_t>(1, counts.heads), key = counts.latent_key_dim;
      if (key >= dim) throw Error(ErrorCode::kBadFile, cat("'", name, "' is ", hf, " for ", counts.heads, " heads"));
      return change == kLatentKeys ? Shape{counts.heads, hf[1], key} : Shape{counts.heads, dim - key, hf[1]};
    }
    case kFirstHalf:
    case kSecondHalf: return hf.with(rank - 2, hf[rank - 2] / 2);
    case kEven:
    case kOdd: return hf.with(1, hf[1] / 2);
    case kEvenOfTransposed:
    case kOddOfTransposed:
    case kFirstHalfOfTransposed:
    case kSecondHalfOfTransposed: return swapped().with(1, hf[2] / 2);
    default: return hf;
  }
}

// The HF tensors that make one GGUF tensor: one, or one per expert.
struct Sources {
  std::vector<std::string> names;
  ByteChange change = kSame;
  bool stacked = false;
};

Tensor load_sources(const WeightSource& source, const Sources& sources, std::string_view gguf_name) {
  std::vector<Tensor> parts;
  for (const std::string& name : sources.names) {
    const LoadedWeight loaded = source.get(name);
    parts.push_back(to_gguf(in_natural_order(loaded), sources.change, source.counts(), name));
  }
  if (!sources.stacked) return compact(parts.front());
  if (source.experts() > 0 && static_cast<int64_t>(parts.size()) != source.experts() &&
      gguf_name.find("_exps") != std::string_view::npos) {
    throw Error(ErrorCode::kBadFile,
                cat("'", gguf_name, "' has ", parts.size(), " experts, expected ", source.experts()));
  }
  return stack_parts(parts);
}

// -1: it is outside the layers.
int64_t layer_number(std::string_view name) {
  constexpr std::string_view kLayers = "layers.";
  const size_t place = name.find(kLayers);
  if (place == name.npos) return -1;
  int64_t number = -1;
  const std::string_view digits = name.substr(place + kLayers.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end != digits.data() + digits.size() && *end == '.' ? number : -1;
}

// GGUF's table of layers' own embeddings has a row for every token; those without one of their own have the first.
void give_every_token_a_row(std::vector<GgufTensor>& tensors, int64_t vocabulary) {
  for (GgufTensor& tensor : tensors) {
    const int64_t rows = tensor.shape.rank() == 2 ? tensor.shape[0] : 0;
    if (tensor.name != "per_layer_token_embd.weight" || rows < 1 || rows >= vocabulary) continue;
    tensor.shape = tensor.shape.with(0, vocabulary);
    tensor.load = [load = tensor.load, rows, vocabulary] {
      return gather_rows(load(), vocabulary, [rows](int64_t row) { return row < rows ? row : 0; });
    };
  }
}

// Falcon H1 multiplies what many of its weights give; in GGUF the weights are multiplied themselves.
class Multipliers {
 public:
  explicit Multipliers(const Json& config) : config_(config) {
    const double input = number("attention_in_multiplier");
    add("token_embd.weight", number("embedding_multiplier"));
    add("output.weight", number("lm_head_multiplier"));
    add(".attn_q.weight", input);
    add(".attn_k.weight", input * number("key_multiplier"));
    add(".attn_v.weight", input);
    add(".attn_output.weight", number("attention_out_multiplier"));
    add(".ffn_gate.weight", item("mlp_multipliers", 0));
    add(".ffn_down.weight", item("mlp_multipliers", 1));
    add(".ssm_out.weight", number("ssm_out_multiplier"));
    const int64_t hidden = config.get<int64_t>("hidden_size", 0);
    const int64_t inner = config.get<int64_t>(
        "mamba_d_ssm", static_cast<int64_t>(config.get("mamba_expand", 2.0) * static_cast<double>(hidden)));
    const int64_t shared = config.get<int64_t>("mamba_n_groups", 1) * config.get<int64_t>("mamba_d_state", 256);
    const int64_t counts[] = {inner, inner, shared, shared, config.get<int64_t>("mamba_n_heads", 128)};
    for (size_t i = 0; i < std::size(counts); ++i) {
      const double factor = number("ssm_in_multiplier") * item("ssm_multipliers", i);
      mixer_.insert(mixer_.end(), static_cast<size_t>(std::clamp<int64_t>(counts[i], 0, 1 << 24)),
                    static_cast<float>(factor));
    }
  }

  void fold_into(std::vector<GgufTensor>& tensors) const {
    for (GgufTensor& tensor : tensors) {
      std::vector<float> rows;
      if (tensor.name.ends_with(".ssm_in.weight")) rows = mixer_;
      for (const auto& [ending, factor] : whole_) {
        if (tensor.name.ends_with(ending)) rows = {factor};
      }
      if (std::all_of(rows.begin(), rows.end(), [](float factor) { return factor == 1; })) continue;
      tensor.dtype = DType::kF32;
      tensor.load = [load = tensor.load, rows, name = tensor.name] { return scaled(load(), rows, name); };
    }
  }

 private:
  static Tensor scaled(const Tensor& weight, const std::vector<float>& rows, const std::string& name) {
    const Tensor values = convert_tensor(weight, DType::kF32).clone();
    const auto count = static_cast<int64_t>(rows.size());
    if (count != 1 && count != values.dim(0)) {
      throw Error(ErrorCode::kBadFile, cat("'", name, "' has ", values.dim(0), " rows, the settings make it ", count));
    }
    const int64_t columns = values.numel() / std::max<int64_t>(values.dim(0), 1);
    float* value = values.mutable_data<float>();
    for (int64_t i = 0; i < values.numel(); ++i) value[i] *= rows[static_cast<size_t>(count == 1 ? 0 : i / columns)];
    return values;
  }
  double number(std::string_view name) const { return config_.get(name, 1.0); }
  double item(std::string_view name, size_t index) const {
    const Json* list = config_.find(name);
    if (!list || list->is_null()) return 1;
    if (index >= list->as_array().size()) throw Error(ErrorCode::kBadFile, cat(list->place(), " is too short"));
    return list->as_array()[index].as_number();
  }
  void add(std::string ending, double factor) { whole_.emplace_back(std::move(ending), static_cast<float>(factor)); }

  const Json& config_;
  std::vector<std::pair<std::string, float>> whole_;
  std::vector<float> mixer_;  // by row
};

}  // namespace

DType gguf_dtype(DType dtype) {
  constexpr std::pair<DType, DType> kNearest[] = {
      {DType::kGroup4, DType::kQ4_1},   {DType::kGroup8, DType::kQ8_0}, {DType::kI8Channel, DType::kQ8_0},
      {DType::kF8E4M3, DType::kF16},    {DType::kF8E5M2, DType::kF16},  {DType::kF64, DType::kF32},
      {DType::kF8Channel, DType::kF16}, {DType::kNF4, DType::kF16},     {DType::kNVFP4, DType::kF16},
  };
  for (const auto& [own, nearest] : kNearest) {
    if (own == dtype) return nearest;
  }
  return dtype;
}

std::vector<GgufTensor> gguf_tensors(const WeightSource& source) {
  std::vector<GgufTensor> tensors;
  const Checkpoint& file = source.checkpoint();
  if (file.kind() == Checkpoint::Kind::kGguf) {
    for (const TensorEntry& entry : file.entries()) {
      if (!entry.dtype)
        throw Error(ErrorCode::kUnsupported,
                    cat("'", entry.name, "' has the type ", entry.type, ", which Wick does not read"));
      tensors.push_back({entry.name, entry.shape, *entry.dtype, [&file, name = entry.name] { return file.get(name); }});
    }
    return tensors;
  }

  const Json& config = text_config(source.config());
  const bool tied = config.get("tie_word_embeddings", false);
  const bool is_bert = source.architecture() == "bert";
  std::vector<std::string> order;
  std::unordered_map<std::string, Sources> made;
  const int64_t layers = config.get<int64_t>("num_hidden_layers", INT64_MAX);
  for (const std::string& name : source.names()) {
    // Layers that predict further tokens follow the model's own.
    if (is_leftover(name) || name.starts_with("mtp.") || layer_number(name) >= layers) continue;
    // Vectors are pooled otherwise: the format has no place for BERT's own way.
    if (is_bert && (name.starts_with("pooler.dense.") || name == "embeddings.position_ids")) continue;
    const auto matches = gguf_matches(source.architecture(), name);
    if (matches.empty()) {
      throw Error(ErrorCode::kUnsupported,
                  cat("'", name, "' has no place in a GGUF file of architecture '", source.architecture(), "'"));
    }
    if (tied && matches.front().name == "output.weight") continue;
    for (const NameMatch& match : matches) {
      if (&match != &matches.front() && !is_part(match.change)) continue;
      const auto [place, fresh] = made.try_emplace(match.name);
      if (fresh) order.push_back(match.name);
      Sources& sources = place->second;
      sources.change = match.change;
      sources.stacked = match.expert.has_value();
      const size_t slot = sources.stacked ? static_cast<size_t>(*match.expert) : 0;
      if (slot >= 100000) throw Error(ErrorCode::kBadFile, cat("'", name, "' is expert ", slot));
      if (sources.names.size() <= slot) sources.names.resize(slot + 1);
      sources.names[slot] = name;
    }
  }
  for (std::string& name : order) {
    Sources& sources = made[name];
    if (std::find(sources.names.begin(), sources.names.end(), "") != sources.names.end()) {
      throw Error(ErrorCode::kBadFile, cat("'", name, "': experts are missing between those that are there"));
    }
    const Stored stored = stored_form(source, sources.names.front());
    Shape shape = gguf_shape(stored.shape, sources.change, source.counts(), name);
    if (sources.stacked) shape = shape.inserted(0, static_cast<int64_t>(sources.names.size()));
    const DType dtype = changes_values(sources.change) ? DType::kF32 : stored.dtype;
    tensors.push_back({name, shape, dtype, [&source, sources, name] { return load_sources(source, sources, name); }});
  }
  if (source.architecture() == "falcon-h1") Multipliers(config).fold_into(tensors);
  give_every_token_a_row(tensors, config.get<int64_t>("vocab_size", 0));
  for (RopeTensor& rope : rope_tensors(config)) {
    const auto count = static_cast<int64_t>(rope.factors.size());
    tensors.push_back({rope.name, {count}, DType::kF32, [factors = std::move(rope.factors), count] {
                         return from_vector(factors, {count});
                       }});
  }
  return tensors;
}

}  // namespace wick
