#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/byte_changes.h"
#include "formats/checkpoint.h"
#include "formats/loaded_weight.h"
#include "formats/packed/packed_weight.h"

namespace wick {

// The weights of one model by their Hugging Face names, whatever the file holds: safetensors as they are, GGUF through
// the table of names with rows put back in order, quantised ones (packed/) assembled, and
//   - experts one by one ("mlp.experts.3.gate_proj.weight") or stacked (the same without the number: [experts, out,
//   in]),
//     under the names of Qwen for every family, or under the family's own
//   - q, k, v and gate, up apart ("self_attn.q_proj") or fused ("self_attn.qkv_proj"), always [out, in]
// from either form. Tensors are views of the mapped file wherever the bytes can be used as they lie; what had to be
// copied is dropped from memory in its old form. A value: copies share the mapping. Thread-safe.
class WeightSource {
 public:
  // Reads the settings; throws Error(kUnsupported) for kinds of quantisation that Wick does not read.
  explicit WeightSource(Checkpoint checkpoint);

  const Checkpoint& checkpoint() const { return checkpoint_; }
  const Json& config() const { return config_; }  // config.json, or what the GGUF file says in its terms
  const std::string& architecture() const {
    return architecture_;
  }  // as GGUF names it; the model_type where GGUF has none
  const HeadCounts& counts() const { return counts_; }
  const QuantConfig& quant_config() const { return quant_; }
  int64_t experts() const { return experts_; }

  bool has(std::string_view hf_name) const { return static_cast<bool>(resolve(hf_name)); }
  // Empty when neither the name nor another form of it is there. Throws Error(kBadFile) naming the tensor when its
  // shape contradicts the settings.
  std::optional<LoadedWeight> find(std::string_view hf_name) const;
  // The same, but a missing name is an Error(kInvalidArgument).
  LoadedWeight get(std::string_view hf_name) const;

  // Lets the operating system drop pages of the files that have been converted or copied; they can be read again.
  // Bytes that do not belong to the files are left alone.
  void forget_bytes(const std::byte* begin, int64_t bytes) const;
  void forget_bytes(const Tensor& tensor) const {
    forget_bytes(tensor.storage()->data(), static_cast<int64_t>(tensor.storage()->bytes()));
  }

  // How a weight is packed that a folder keeps under this very name; empty: it is stored as it is, or not there.
  std::optional<PackedWeight> packed(std::string_view name) const;
  // The shape that a tensor of a folder has under this very name, without reading it.
  std::optional<Shape> stored_shape(std::string_view name) const;

  // The HF names of what the file holds, in file order: "x.weight" for a quantised x; stacks without numbers.
  std::vector<std::string> names() const;

 private:
  using Load = std::function<LoadedWeight()>;  // empty: there is none

  Load resolve(std::string_view name) const;
  Load direct(std::string_view name) const;  // under this name or another of the same tensor
  Load as_stored(std::string_view name) const;
  Load from_gguf(std::string_view name) const;
  Load from_alias(std::string_view name) const;
  Load from_fused(std::string_view name) const;
  Load from_parts(std::string_view name) const;
  Load from_latent(std::string_view name) const;
  Load from_experts(std::string_view name) const;

  bool is_gguf() const { return checkpoint_.kind() == Checkpoint::Kind::kGguf; }
  Tensor take(std::string_view stored_name) const { return checkpoint_.get(stored_name); }
  void forget(std::string_view stored_name) const;

  Checkpoint checkpoint_;
  Json config_;
  QuantConfig quant_;
  std::string architecture_;
  HeadCounts counts_;
  int64_t experts_ = 0;
};

// Heads and groups as config.json gives them, under any of its spellings.
HeadCounts head_counts(const Json& config);
int64_t expert_count(const Json& config);

}  // namespace wick
