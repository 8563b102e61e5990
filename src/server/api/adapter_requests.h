#pragma once

#include <string>

#include "server/api/fields.h"

namespace wick {

// POST /v1/load_lora_adapter, as vLLM has it.
struct LoadAdapterRequest {
  std::string model, lora_name, lora_path;
  double scale = 1;
  static const Fields<LoadAdapterRequest>& fields();
};

// POST /v1/unload_lora_adapter.
struct UnloadAdapterRequest {
  std::string model, lora_name;
  static const Fields<UnloadAdapterRequest>& fields();
};

}  // namespace wick
