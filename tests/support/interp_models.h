#pragma once

#include <string>
#include <vector>

#include "interp/language_interp.h"
#include "support/model_fixtures.h"
#include "support/reference_models.h"

namespace wick {

// A model as the tools see it.
inline LanguageInterp interp_in(const std::filesystem::path& folder, const LanguageInterpOptions& options = {}) {
  return LanguageInterp(load_model(WeightSource(Checkpoint::open(folder))), options);
}
inline LanguageInterp interp_of(const std::string& family, const LanguageInterpOptions& options = {}) {
  return interp_in(family_folder(family), options);
}

// Every way that layers are built: families of the decoder, experts, convolutions, Mamba and RWKV.
inline const std::vector<std::string>& interp_families() {
  static const std::vector<std::string> kFamilies = {"llama",   "mistral", "mixtral", "qwen2_moe", "qwen3",  "phi",
                                                     "falcon",  "gemma2",  "gemma3",  "olmo2",     "gpt2",   "cohere2",
                                                     "granite", "lfm2",    "gpt_oss", "mamba",     "mamba2", "rwkv"};
  return kFamilies;
}

}  // namespace wick
