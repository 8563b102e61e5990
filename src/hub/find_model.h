#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "hub/hub_cache.h"

namespace wick {

struct FoundModel {
  std::filesystem::path path;     // a folder, or a file that was named
  std::optional<ModelName> name;  // set when it was found in the cache
};

// A path that exists, else a name of the hub in the cache. Reads no network. Throws Error(kIo) that says where it
// looked, how to get the model and which names are near; `hint` is added to the sentence.
FoundModel find_model(const std::string& text, std::string_view hint = {});
FoundModel find_model(const std::string& text, std::string_view hint, const HubCache& cache);

// find_model for words that mean something else when there is no such model. Throws only for a model that is there but
// does not hold the file or type that was named.
std::optional<FoundModel> try_find_model(const std::string& text, const HubCache& cache);

}  // namespace wick
