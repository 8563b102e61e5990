#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "embed/embedder.h"

namespace wick {

struct TokenWeight {
  int32_t token = 0;
  float weight = 0;
};

// What BGE-M3 makes of a text beside its one vector: a weight for each token, as search by words uses them, and a
// vector for each token, for comparing token by token (ColBERT). Its folder has a linear for either: sparse_linear and
// colbert_linear, as .safetensors or .pt. Immutable and thread-safe.
class TokenOutputs {
 public:
  // Throws Error(kUnsupported) when the folder has neither file, Error(kBadFile) when one does not fit the model.
  TokenOutputs(const std::filesystem::path& model, std::shared_ptr<const Embedder> embedder);

  // By token; each once, with its largest weight. Those around the text and unknown ones do not count.
  std::vector<std::vector<TokenWeight>> weights(std::span<const EncoderInput> texts,
                                                const std::function<void(int64_t)>& done = {}) const;
  // f32 [tokens - 1, width] for each text, of length 1: of all tokens but the first.
  std::vector<Tensor> vectors(std::span<const EncoderInput> texts, const std::function<void(int64_t)>& done = {}) const;

 private:
  std::optional<Linear> load(const std::filesystem::path& folder, const char* name, int64_t outputs) const;

  std::shared_ptr<const Embedder> embedder_;
  std::optional<Linear> sparse_, colbert_;
};

}  // namespace wick
