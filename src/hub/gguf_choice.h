#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick {

struct NamedSize {
  std::string name;  // path in the repository
  int64_t bytes = 0;
};

// A model in one file or in numbered parts, of which a repository often holds one per type.
struct GgufModelFiles {
  std::vector<std::string> files;  // the first part first
  int64_t bytes = 0;
  std::string type;  // "Q4_K_M", from the name; empty when the name tells none
};

// Every model among the files: GGUF, and ggml files of Whisper (ggml-*.bin). Vision parts (mmproj) are left out.
std::vector<GgufModelFiles> gguf_models(const std::vector<NamedSize>& files);

// Those whose name holds the variant as a word, in small or large letters.
std::vector<GgufModelFiles> gguf_models_of(const std::vector<GgufModelFiles>& models, std::string_view variant);

// What to write after the repository's name to mean this one: ":Q4_K_M" when no other is of that type, else "/file".
std::string gguf_suffix(const GgufModelFiles& model, const std::vector<GgufModelFiles>& all);

}  // namespace wick
