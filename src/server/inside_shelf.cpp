#include "server/inside_shelf.h"

#include "base/error.h"
#include "base/text.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// Calls each(path) for what lies in the folder; nothing for an empty name.
template <typename Each>
void for_each_in(const fs::path& folder, Each each) {
  if (folder.empty()) return;
  std::error_code error;
  for (fs::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
    each(file->path());
  }
  if (error) throw Error(ErrorCode::kIo, cat(folder, ": cannot be read: ", error.message()));
}

template <typename Thing>
InsideShelf::Named<Thing> files_of(const fs::path& folder) {
  InsideShelf::Named<Thing> files;
  for_each_in(folder, [&](const fs::path& path) {
    if (path.extension() == ".safetensors") files.emplace(path.stem().string(), Thing::load(path));
  });
  return files;
}

InsideShelf::Named<LinearProbe> probes_of(const fs::path& folder) {
  InsideShelf::Named<LinearProbe> probes = files_of<LinearProbe>(folder);
  for (const auto& [name, probe] : probes) {
    if (!probe.point.empty()) continue;
    throw Error(ErrorCode::kBadFile, cat(folder / (name + ".safetensors"), ": the probe does not say at which point"));
  }
  return probes;
}

InsideShelf::Named<SparseAutoencoder> autoencoders_of(const fs::path& folder) {
  InsideShelf::Named<SparseAutoencoder> autoencoders;
  for_each_in(folder, [&](const fs::path& path) {
    std::error_code none;
    if (!fs::exists(path / "cfg.json", none)) return;
    autoencoders.emplace(path.filename().string(), SparseAutoencoder::load(path));
  });
  return autoencoders;
}

}  // namespace

InsideShelf::InsideShelf(const Folders& folders)
    : steering_(files_of<SteeringVector>(folders.steering)),
      probes_(probes_of(folders.probes)),
      autoencoders_(autoencoders_of(folders.autoencoders)) {}

}  // namespace wick
