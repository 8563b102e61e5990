#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hub/model_name.h"

namespace wick {

// The folder that huggingface_hub and Wick share. One repository in it:
//   models--Org--Name/refs/main                     the commit that "main" was when it was last asked for
//   models--Org--Name/snapshots/<commit>/<file>     a symbolic link to ../../blobs/<checksum>
//   models--Org--Name/blobs/<checksum>              SHA-256 of large files, git's SHA-1 of small ones
//   .locks/models--Org--Name/<checksum>.lock        held (flock) by whoever downloads that blob
class HubCache {
 public:
  explicit HubCache(std::filesystem::path root) : root_(std::move(root)) {}
  // HF_HUB_CACHE, else hub/ in HF_HOME, else in huggingface/ of XDG_CACHE_HOME or of ~/.cache.
  static HubCache of_environment();

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path folder_of(const std::string& repo) const;
  std::filesystem::path lock_of(const std::string& repo, const std::string& checksum) const;
  // The snapshot of that revision (a branch, a tag or a commit); empty when it is not there.
  std::optional<std::filesystem::path> snapshot_of(const ModelName& name) const;
  // Repositories with a snapshot, sorted.
  std::vector<std::string> repos() const;

 private:
  std::filesystem::path root_;
};

// What HF_HOME is, or would be.
std::filesystem::path hub_home();

}  // namespace wick
