#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/hub_cache.h"

namespace wick {

// A model on the disk.
struct StoredModel {
  std::string name;  // as commands take it: "Qwen/Qwen3-0.6B", "org/models-GGUF:Q4_K_M", "org/m@v2", "models/m.gguf"
  std::filesystem::path path;
  std::string kind;  // "safetensors, qwen3 bfloat16", "GGUF Q4_K_M", "no weights"
  int64_t bytes = 0;
  int64_t used = 0;  // Unix seconds of the last time its largest file was read, as far as the system notes that
};

// The models of the cache, by name.
std::vector<StoredModel> cached_models(const HubCache& cache);
// GGUF files, ggml files of Whisper and folders with weights that lie in a folder itself, by name.
std::vector<StoredModel> models_in_folder(const std::filesystem::path& folder);

// What has to go from the cache for a model to be gone. The rest of its repository stays usable.
struct Removal {
  std::vector<std::filesystem::path> paths;  // files, links and folders, in the order to remove them
  int64_t bytes = 0;                         // that become free
};
// Empty when the cache does not hold it. Without a revision, type or file all that is there of the repository goes.
// Throws Error(kInvalidArgument) when the name fits several models or none of those that are there, and Error(kIo)
// while it is being downloaded.
std::optional<Removal> plan_removal(const HubCache& cache, const ModelName& name);
// Throws Error(kIo) with the path.
void remove_paths(const Removal& removal);

}  // namespace wick
