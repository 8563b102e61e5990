#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"

namespace wick {

// The sizes of a model that people know by name, without its weights.
struct ModelShape {
  std::string_view name;        // "qwen3-0.6b"
  std::string_view model_type;  // of config.json
  int64_t layers, hidden, heads, kv_heads, head_dim, intermediate, vocabulary, context;
  double rope_theta;
  bool tied;               // the output projection is the embedding
  std::string_view extra;  // further members of config.json; may be empty

  Json config() const;  // config.json as Hugging Face would have it
};

std::span<const ModelShape> model_shapes();
// Throws Error(kInvalidArgument) with the nearest name and the list when there is none.
const ModelShape& model_shape(std::string_view name);

}  // namespace wick
