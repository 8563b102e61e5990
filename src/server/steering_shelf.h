#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "interp/steering.h"

namespace wick {

// The steering vectors that requests may name: the .safetensors files of a folder, by their names without the ending.
// Read once; a request never names a path. Immutable and thread-safe.
class SteeringShelf {
 public:
  SteeringShelf() = default;
  // Throws Error(kIo) when the folder cannot be read, Error(kBadFile) for a file that holds no steering vector.
  explicit SteeringShelf(const std::filesystem::path& folder);

  std::vector<std::string> names() const;
  const SteeringVector* find(const std::string& name) const;  // null: there is none

 private:
  std::map<std::string, SteeringVector> vectors_;
};

}  // namespace wick
