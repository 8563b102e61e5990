#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "formats/weights.h"
#include "tensor/tensor.h"

namespace wick {

// What an adapter adds to one linear layer: W becomes W + scale * b a, and with DoRA the rows of that are then brought
// to the lengths of `magnitude`.
struct LoraModule {
  std::string name;  // "model.layers.0.self_attn.q_proj"
  Tensor a;          // f32 [rank, in]
  Tensor b;          // f32 [out, rank]
  Tensor magnitude;  // f32 [out]; undefined: LoRA without DoRA
  float scale = 1;

  int64_t rank() const { return a.dim(0); }
};

// Reads an adapter for a model: a folder as PEFT writes it (adapter_config.json, adapter_model.safetensors) or a GGUF
// file. Throws Error(kUnsupported) naming the setting or tensor that Wick does not take, Error(kBadFile) when shapes
// contradict each other, Error(kIo) when nothing is there.
std::vector<LoraModule> read_lora(const std::filesystem::path& path, const WeightSource& base);

// adapter_config.json. Throws Error(kUnsupported) for every setting that changes the computation and is not LoRA or
// DoRA.
class PeftConfig {
 public:
  explicit PeftConfig(const Json& config);

  bool dora() const { return dora_; }
  // What multiplies b a of a module.
  float scale(const std::string& module, int64_t rank) const;

 private:
  double alpha_ = 8;
  bool rank_stable_ = false, dora_ = false;
  std::vector<std::pair<std::string, double>> alpha_pattern_;
};

// From parts by module; checks shapes and values. `name` stands in messages.
void check_module(const LoraModule& module, const std::string& name);

}  // namespace wick
