#include "hub/hub_cache.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/env.h"
#include "base/text.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "models--";

std::string folder_name(const std::string& repo) {
  std::string name(kPrefix);
  for (const char c : repo) name += c == '/' ? std::string("--") : std::string(1, c);
  return name;
}

// What a file of refs/ names; empty when that is no commit.
std::string read_commit(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  char text[64] = {};
  file.read(text, sizeof(text) - 1);
  std::string commit(text);
  commit.erase(commit.find_last_not_of(" \r\n\t") + 1);
  return is_commit(commit) ? commit : "";
}

fs::path user_folder() {
  if (const auto home = env_text("HOME")) return *home;
  passwd facts{}, *found = nullptr;
  char text[4096];
  if (getpwuid_r(getuid(), &facts, text, sizeof(text), &found) == 0 && found) return found->pw_dir;
  return "/";  // a user without a folder, as in some containers
}

// A folder from the environment; "~/" is the user's.
fs::path folder_named(const std::string& text) {
  return text.starts_with("~/") ? user_folder() / text.substr(2) : fs::path(text);
}

}  // namespace

fs::path hub_home() {
  if (const auto home = env_text("HF_HOME")) return folder_named(*home);
  if (const auto cache = env_text("XDG_CACHE_HOME")) return folder_named(*cache) / "huggingface";
  return user_folder() / ".cache" / "huggingface";
}

HubCache HubCache::of_environment() {
  if (const auto cache = env_text("HF_HUB_CACHE")) return HubCache(folder_named(*cache));
  return HubCache(hub_home() / "hub");
}

fs::path HubCache::folder_of(const std::string& repo) const { return root_ / folder_name(repo); }

fs::path HubCache::lock_of(const std::string& repo, const std::string& checksum) const {
  return root_ / ".locks" / folder_name(repo) / cat(checksum, ".lock");
}

std::optional<fs::path> HubCache::snapshot_of(const ModelName& name) const {
  const fs::path folder = folder_of(name.repo);
  std::string commit = read_commit(folder / "refs" / name.revision);
  if (commit.empty() && is_commit(name.revision)) commit = name.revision;
  if (commit.empty()) return std::nullopt;
  fs::path snapshot = folder / "snapshots" / commit;
  std::error_code ignored;
  if (!fs::is_directory(snapshot, ignored)) return std::nullopt;
  return snapshot;
}

std::vector<std::string> HubCache::repos() const {
  std::vector<std::string> repos;
  std::error_code problem, ignored;
  for (fs::directory_iterator at(root_, problem), end; !problem && at != end; at.increment(problem)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(kPrefix) || !fs::is_directory(at->path() / "snapshots", ignored)) continue;
    name.erase(0, kPrefix.size());
    if (const size_t dashes = name.find("--"); dashes != std::string::npos) name.replace(dashes, 2, "/");
    if (parse_model_name(name)) repos.push_back(std::move(name));
  }
  std::sort(repos.begin(), repos.end());
  return repos;
}

}  // namespace wick
