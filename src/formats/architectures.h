#pragma once

#include <span>
#include <string_view>

namespace wick {

// One row per architecture that GGUF defines and Wick knows: its names on both sides, and what a GGUF file leaves
// unsaid because it follows from the architecture.
struct Architecture {
  std::string_view gguf;                          // general.architecture
  std::span<const std::string_view> model_types;  // of config.json; the first is the one written
  std::string_view model_class;                   // of config.json's "architectures"
  std::string_view constants;                     // members of config.json, as JSON text: "\"hidden_act\": \"silu\""
};

// By GGUF architecture or by Hugging Face model_type; null when neither is known.
const Architecture* find_architecture(std::string_view name);
std::span<const Architecture> architectures();

}  // namespace wick
