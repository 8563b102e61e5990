#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "formats/checkpoint.h"
#include "support/tiny_models.h"
#include "tensor/create.h"

namespace wick {

// Writes an adapter as PEFT does: tensors by their names, and settings.
inline void write_peft(const std::filesystem::path& to, const std::string& config,
                       const std::vector<std::pair<std::string, Tensor>>& tensors) {
  write_checkpoint(to, "{}", tensors);
  std::filesystem::rename(to / "model.safetensors", to / "adapter_model.safetensors");
  std::ofstream(to / "adapter_config.json") << config;
}

// One with random matrices for every projection of a checkpoint, large enough to change what is generated.
inline void write_random_lora(const Checkpoint& base, const std::filesystem::path& to, int64_t rank, uint64_t seed) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const TensorEntry& entry : base.entries()) {
    constexpr std::string_view kEnd = "_proj.weight";
    if (!std::string_view(entry.name).ends_with(kEnd)) continue;
    const std::string stem = "base_model.model." + entry.name.substr(0, entry.name.size() - 7);
    tensors.emplace_back(stem + ".lora_A.weight", randn({rank, entry.shape[1]}, seed++));
    tensors.emplace_back(stem + ".lora_B.weight", randn({entry.shape[0], rank}, seed++));
  }
  write_peft(to, cat(R"({"peft_type": "LORA", "r": )", rank, R"(, "lora_alpha": 0.2})"), tensors);
}

}  // namespace wick
