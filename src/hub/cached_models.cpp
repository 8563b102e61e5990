#include "hub/cached_models.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "hub/file_lock.h"
#include "hub/gguf_choice.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostEntries = 100'000;  // of a folder and those in it

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code problem, ignored;
  for (fs::recursive_directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    if (files.size() == kMostEntries) break;
    if (!fs::is_directory(at->path(), ignored)) files.push_back(at->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    if (entries.size() == kMostEntries) break;
    entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Adds a file's size and the time it was used; a blob that several names link to counts once.
void add_file(StoredModel& model, const fs::path& file, std::set<uint64_t>& seen) {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0 || !seen.insert(facts.st_ino).second) return;
  model.bytes += facts.st_size;
  model.used = std::max<int64_t>({model.used, facts.st_atime, facts.st_mtime});
}

// "safetensors, qwen3 bfloat16"
std::string kind_of_folder(const fs::path& folder) {
  std::string kind = "safetensors";
  std::error_code ignored;
  const fs::path config = folder / "config.json";
  if (!fs::exists(config, ignored)) return kind;
  try {
    const Json json = Json::load(config);
    const std::string type = json.get("model_type", ""), dtype = json.get("dtype", json.get("torch_dtype", ""));
    if (!type.empty()) kind += cat(", ", type);
    if (!dtype.empty()) kind += cat(type.empty() ? ", " : " ", dtype);
  } catch (const Error&) {
    kind += ", with a damaged config.json";
  }
  return kind;
}

std::vector<NamedSize> named(const std::vector<fs::path>& files, const fs::path& folder) {
  std::vector<NamedSize> names;
  for (const fs::path& file : files) names.push_back({file.lexically_relative(folder).string(), 0});
  return names;
}

std::string kind_of_gguf(const GgufModelFiles& model) {
  const bool is_gguf = model.files.front().ends_with(".gguf");
  return cat(is_gguf ? "GGUF" : "ggml of whisper.cpp", model.type.empty() ? "" : " ", model.type);
}

bool has_weights(const std::vector<fs::path>& files) {
  return std::any_of(files.begin(), files.end(),
                     [](const fs::path& file) { return file.extension() == ".safetensors"; });
}

void add_snapshot(std::vector<StoredModel>& models, const std::string& repo, const std::string& revision,
                  const fs::path& snapshot) {
  const std::vector<fs::path> files = files_below(snapshot);
  const auto gguf = gguf_models(named(files, snapshot));
  const std::string at = revision == "main" ? "" : cat("@", revision);
  if (has_weights(files) || gguf.empty()) {
    StoredModel model{cat(repo, at), snapshot, has_weights(files) ? kind_of_folder(snapshot) : "no weights"};
    std::set<uint64_t> seen;
    for (const fs::path& file : files) add_file(model, file, seen);
    models.push_back(std::move(model));
    return;
  }
  for (const GgufModelFiles& one : gguf) {
    const std::string suffix = gguf.size() == 1 ? "" : gguf_suffix(one, gguf);
    const bool is_file = suffix.starts_with('/');
    StoredModel model{is_file ? cat(repo, suffix, at) : cat(repo, at, suffix), snapshot / one.files.front(),
                      kind_of_gguf(one)};
    std::set<uint64_t> seen;
    for (const std::string& file : one.files) add_file(model, snapshot / file, seen);
    models.push_back(std::move(model));
  }
}

// The commits of a repository's revisions by their names, then commits that have no name.
std::vector<std::pair<std::string, fs::path>> revisions_of(const HubCache& cache, const std::string& repo) {
  std::vector<std::pair<std::string, fs::path>> revisions;
  std::set<fs::path> known;
  const fs::path folder = cache.folder_of(repo);
  for (const fs::path& ref : files_below(folder / "refs")) {
    ModelName name;
    name.repo = repo;
    name.revision = ref.lexically_relative(folder / "refs").string();
    const auto snapshot = cache.snapshot_of(name);
    if (snapshot && known.insert(*snapshot).second) revisions.emplace_back(name.revision, *snapshot);
  }
  for (const fs::path& snapshot : entries_of(folder / "snapshots")) {
    if (known.insert(snapshot).second) revisions.emplace_back(snapshot.filename().string(), snapshot);
  }
  return revisions;
}

void check_not_at_work(const HubCache& cache, const std::string& repo) {
  for (const fs::path& lock : entries_of(cache.lock_of(repo, "x").parent_path())) {
    if (!FileLock::try_lock(lock)) throw Error(ErrorCode::kIo, cat(repo, ": is being downloaded"));
  }
}

// Links of a snapshot that make up the model that was named.
std::vector<fs::path> links_of(const fs::path& snapshot, const ModelName& name) {
  const std::vector<fs::path> files = files_below(snapshot);
  if (name.file.empty() && name.variant.empty()) return files;
  std::error_code ignored;
  if (!name.file.empty()) {
    const fs::path file = snapshot / name.file;
    if (!fs::is_symlink(file, ignored) && !fs::exists(file, ignored)) {
      throw Error(ErrorCode::kInvalidArgument, cat(in_quotes(name.file), ": is not in ", snapshot));
    }
    return {file};
  }
  const auto all = gguf_models(named(files, snapshot));
  const auto found = gguf_models_of(all, name.variant);
  if (found.size() != 1) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(name.text(), found.empty() ? ": there is no GGUF file of that type" : ": fits several files",
                    "; wick list shows what there is"));
  }
  std::vector<fs::path> links;
  for (const std::string& file : found.front().files) links.push_back(snapshot / file);
  return links;
}

int64_t bytes_of(const std::vector<fs::path>& paths) {
  StoredModel sum;
  std::set<uint64_t> seen;
  for (const fs::path& path : paths) add_file(sum, path, seen);
  return sum.bytes;
}

}  // namespace

std::vector<StoredModel> cached_models(const HubCache& cache) {
  std::vector<StoredModel> models;
  for (const std::string& repo : cache.repos()) {
    for (const auto& [revision, snapshot] : revisions_of(cache, repo)) add_snapshot(models, repo, revision, snapshot);
  }
  return models;
}

std::vector<StoredModel> models_in_folder(const fs::path& folder) {
  std::vector<StoredModel> models;
  std::error_code ignored;
  std::vector<fs::path> files, folders;
  for (const fs::path& entry : entries_of(folder))
    (fs::is_directory(entry, ignored) ? folders : files).push_back(entry);
  for (const GgufModelFiles& one : gguf_models(named(files, folder))) {
    const fs::path path = (folder / one.files.front()).lexically_normal();
    StoredModel model{path.string(), path, kind_of_gguf(one)};
    std::set<uint64_t> seen;
    for (const std::string& file : one.files) add_file(model, folder / file, seen);
    models.push_back(std::move(model));
  }
  for (const fs::path& below : folders) {
    const std::vector<fs::path> inside = entries_of(below);
    if (!has_weights(inside) || !fs::exists(below / "config.json", ignored)) continue;
    const fs::path path = below.lexically_normal();
    StoredModel model{path.string(), path, kind_of_folder(below)};
    std::set<uint64_t> seen;
    for (const fs::path& file : inside) {
      if (fs::is_regular_file(file, ignored)) add_file(model, file, seen);
    }
    models.push_back(std::move(model));
  }
  return models;
}

std::optional<Removal> plan_removal(const HubCache& cache, const ModelName& name) {
  const fs::path folder = cache.folder_of(name.repo);
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return std::nullopt;
  check_not_at_work(cache, name.repo);
  Removal removal;
  if (name.file.empty() && name.variant.empty() && name.revision == "main") {
    removal.bytes = bytes_of(files_below(folder));
    removal.paths = {folder};
    return removal;
  }
  const auto snapshot = cache.snapshot_of(name);
  if (!snapshot) return std::nullopt;
  const std::vector<fs::path> links = links_of(*snapshot, name);
  // Blobs that nothing else links to go, too.
  std::set<fs::path> others;
  for (const auto& [revision, other] : revisions_of(cache, name.repo)) {
    for (const fs::path& file : files_below(other)) {
      if (std::find(links.begin(), links.end(), file) == links.end())
        others.insert(fs::weakly_canonical(file, ignored));
    }
  }
  std::vector<fs::path> blobs;
  for (const fs::path& link : links) {
    removal.paths.push_back(link);
    const fs::path blob = fs::weakly_canonical(link, ignored);
    const bool is_inside = blob.parent_path() == fs::weakly_canonical(folder / "blobs", ignored);
    if (is_inside && others.count(blob) == 0) blobs.push_back(blob);
  }
  removal.bytes = bytes_of(blobs);
  removal.paths.insert(removal.paths.end(), blobs.begin(), blobs.end());
  if (name.file.empty() && name.variant.empty()) {
    removal.paths.push_back(*snapshot);
    removal.paths.push_back(folder / "refs" / name.revision);
  }
  return removal;
}

void remove_paths(const Removal& removal) {
  for (const fs::path& path : removal.paths) {
    std::error_code problem;
    fs::remove_all(path, problem);
    if (problem) throw Error(ErrorCode::kIo, cat(path, ": cannot be removed: ", problem.message()));
  }
}

}  // namespace wick
