#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace wick {

enum class ConfigKind : uint8_t { kInteger, kNumber, kBool };

// A setting that both worlds have: "<architecture>.<gguf>" and config.json's `hf`. `older` lists other spellings found
// on the hub, with spaces between.
struct ConfigKey {
  std::string_view gguf, hf;
  ConfigKind kind = ConfigKind::kInteger;
  std::string_view older = {};
};
std::span<const ConfigKey> config_keys();

// The spelling of a family that differs from the common one; `hf` as given when it does not.
std::string_view family_spelling(std::string_view gguf_architecture, std::string_view hf);

// Families that alternate: every `period`-th layer attends to everything, the others to a window. 0: none do.
int window_period(std::string_view gguf_architecture);

}  // namespace wick
