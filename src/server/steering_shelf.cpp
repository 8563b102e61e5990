#include "server/steering_shelf.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace fs = std::filesystem;

SteeringShelf::SteeringShelf(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
    const fs::path& path = file->path();
    if (path.extension() == ".safetensors") vectors_.emplace(path.stem().string(), SteeringVector::load(path));
  }
  if (error) throw Error(ErrorCode::kIo, cat(folder, ": cannot be read: ", error.message()));
}

std::vector<std::string> SteeringShelf::names() const {
  std::vector<std::string> names;
  for (const auto& [name, vector] : vectors_) names.push_back(name);
  return names;
}

const SteeringVector* SteeringShelf::find(const std::string& name) const {
  const auto found = vectors_.find(name);
  return found == vectors_.end() ? nullptr : &found->second;
}

}  // namespace wick
