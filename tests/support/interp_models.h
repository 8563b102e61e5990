#pragma once

#include <string>
#include <vector>

#include "interp/language_interp.h"
#include "support/model_fixtures.h"

namespace wick {

// A model as the tools see it. References come from models that were cast as a whole, rope frequencies included.
inline LanguageInterp interp_in(const std::filesystem::path& folder, const LanguageInterpOptions& options = {}) {
  const Checkpoint checkpoint = Checkpoint::open(folder);
  ModelOptions as_cast;
  as_cast.rope_dtype = checkpoint.entries().front().dtype;
  return LanguageInterp(load_model(WeightSource(checkpoint), as_cast), options);
}
inline LanguageInterp interp_of(const std::string& family, const LanguageInterpOptions& options = {}) {
  return interp_in(family_folder(family), options);
}

// Every way that layers are built: families of the decoder, experts, convolutions, Mamba and RWKV.
inline const std::vector<std::string>& interp_families() {
  static const std::vector<std::string> kFamilies = {"llama",    "mistral", "mixtral", "qwen2",    "qwen3", "qwen3_moe",
                                                     "phi",      "falcon",  "gemma2",  "gemma3",   "olmo2", "gpt2",
                                                     "gpt_neox", "cohere2", "granite", "stablelm", "lfm2",  "gpt_oss",
                                                     "mamba",    "mamba2",  "rwkv"};
  return kFamilies;
}

inline std::string test_name(const std::string& family) {
  std::string name = family;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace wick
