#include "formats/gguf_export.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "base/text.h"
#include "formats/convert_weight.h"
#include "formats/gguf_config.h"
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
  const Checkpoint& file = source.checkpoint();
  const QuantConfig& quant = source.quant_config();
  if (const TensorEntry* entry = file.find(name)) {
    if (!entry->dtype)
      throw Error(ErrorCode::kUnsupported,
                  cat("'", name, "' has the type ", entry->type, ", which Wick does not read"));
    const bool channel = *entry->dtype == DType::kI8 && file.find(cat(name, "_scale"));
    return {entry->shape, channel ? DType::kI8Channel : *entry->dtype};
  }
  if (const TensorEntry* blocks = file.find(cat(name, "_blocks")); blocks && blocks->shape.rank() == 4) {
    const Shape& s = blocks->shape;
    return {{s[0], s[2] * 32, s[1]}, DType::kMXFP4};
  }
  const TensorEntry* words = file.find(cat(name.substr(0, name.rfind('.')), ".qweight"));
  if (!words || words->shape.rank() != 2 || quant.bits == 0) {
    throw Error(ErrorCode::kBadFile, cat("'", name, "' is not a matrix that Wick can read"));
  }
  const int64_t per_word = 32 / quant.bits, rows = words->shape[0], columns = words->shape[1];
  if (quant.method == QuantConfig::Method::kAwq) return {{columns * per_word, rows}, DType::kGroup4};
  return {{columns, rows * per_word}, quant.bits == 8 ? DType::kGroup8 : DType::kGroup4};
}

Shape gguf_shape(const Shape& hf, ByteChange change, const HeadCounts& counts, std::string_view name) {
  const int rank = hf.rank();
  const int least = change == kDropMiddle || change == kEvenOfTransposed || change == kOddOfTransposed ? 3
                    : change == kTransposed || is_part(change)                                         ? 2
                                                                                                       : 0;
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
    case kSecondHalf:
    case kEven:
    case kOdd: return hf.with(1, hf[1] / 2);
    case kEvenOfTransposed:
    case kOddOfTransposed: return swapped().with(1, hf[2] / 2);
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

}  // namespace

DType gguf_dtype(DType dtype) {
  constexpr std::pair<DType, DType> kNearest[] = {
      {DType::kGroup4, DType::kQ4_1}, {DType::kGroup8, DType::kQ8_0}, {DType::kI8Channel, DType::kQ8_0},
      {DType::kF8E4M3, DType::kF16},  {DType::kF8E5M2, DType::kF16},  {DType::kF64, DType::kF32},
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
  std::vector<std::string> order;
  std::unordered_map<std::string, Sources> made;
  for (const std::string& name : source.names()) {
    if (is_leftover(name)) continue;
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
  for (RopeTensor& rope : rope_tensors(config)) {
    const auto count = static_cast<int64_t>(rope.factors.size());
    tensors.push_back({rope.name, {count}, DType::kF32, [factors = std::move(rope.factors), count] {
                         return from_vector(factors, {count});
                       }});
  }
  return tensors;
}

}  // namespace wick
