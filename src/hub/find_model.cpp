#include "hub/find_model.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"
#include "hub/gguf_choice.h"
#include "hub/short_names.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

constexpr size_t kMostFiles = 10'000;  // looked at in a snapshot
constexpr size_t kMostNames = 3;       // named in a sentence

std::vector<NamedSize> files_of(const fs::path& snapshot) {
  std::vector<NamedSize> files;
  std::error_code problem, ignored;
  for (fs::recursive_directory_iterator at(snapshot, problem), end; !problem && at != end; at.increment(problem)) {
    if (files.size() == kMostFiles) break;
    if (!fs::is_regular_file(at->path(), ignored)) continue;
    files.push_back({at->path().lexically_relative(snapshot).string(), 0});
  }
  return files;
}

std::string listed(const ModelName& name, const std::vector<GgufModelFiles>& models,
                   const std::vector<GgufModelFiles>& all) {
  std::string text;
  for (size_t i = 0; i < std::min(models.size(), kMostNames); ++i) {
    text += cat(i ? ", " : "", name.repo, gguf_suffix(models[i], all));
  }
  return models.size() > kMostNames ? cat(text, " and ", models.size() - kMostNames, " more") : text;
}

// The file or the type that was named; the folder when nothing was, unless only a choice of GGUF files is in it.
fs::path pick(const fs::path& snapshot, const ModelName& name) {
  std::error_code ignored;
  if (!name.file.empty()) {
    if (fs::exists(snapshot / name.file, ignored)) return snapshot / name.file;
    throw Error(ErrorCode::kIo, cat(in_quotes(name.file), ": not in ", snapshot, "; `wick pull ", name.text(),
                                    "` downloads it if ", name.repo, " has such a file"));
  }
  const std::vector<NamedSize> files = files_of(snapshot);
  const auto all = gguf_models(files);
  if (name.variant.empty()) {
    const bool has_safetensors =
        std::any_of(files.begin(), files.end(), [](const NamedSize& f) { return f.name.ends_with(".safetensors"); });
    if (has_safetensors || all.empty()) return snapshot;
    if (all.size() == 1) return snapshot / all[0].files[0];
    throw Error(ErrorCode::kInvalidArgument,
                cat(name.repo, ": the cache holds ", all.size(), " models of it: choose ", listed(name, all, all)));
  }
  const auto found = gguf_models_of(all, name.variant);
  if (found.size() == 1) return snapshot / found[0].files[0];
  if (found.size() > 1) {
    throw Error(ErrorCode::kInvalidArgument, cat(name.text(), ": that may be ", listed(name, found, all)));
  }
  throw Error(ErrorCode::kIo, cat(name.text(), ": no such GGUF file in ", snapshot,
                                  all.empty() ? std::string() : cat(" (there is ", listed(name, all, all), ")"),
                                  "; `wick pull ", name.text(), "` downloads it if ", name.repo, " has one"));
}

// Names in the cache that may be meant: the same name of somebody else, or one with few letters changed.
std::vector<std::string> near_names(const std::string& repo, const HubCache& cache) {
  const std::vector<std::string> repos = cache.repos();
  const auto last = [](std::string_view text) { return lower_ascii(text.substr(text.rfind('/') + 1)); };
  std::vector<std::string> names;
  for (const std::string& candidate : repos) {
    if (names.size() < kMostNames && last(candidate) == last(repo)) names.push_back(candidate);
  }
  const std::vector<std::string_view> views(repos.begin(), repos.end());
  const std::string_view closest = nearest(repo, views);
  if (!closest.empty() && std::find(names.begin(), names.end(), closest) == names.end()) names.emplace_back(closest);
  return names;
}

Error not_found(const std::string& text, std::string_view hint, const HubCache& cache) {
  std::string message = cat(in_quotes(text), ": there is no such file or folder");
  if (const auto name = parse_model_name(text)) {
    message += cat(", and no model of that name in ", cache.root());
    const auto names = near_names(name->repo, cache);
    for (size_t i = 0; i < names.size(); ++i) message += cat(i ? ", " : " (there is ", names[i]);
    if (!names.empty()) message += ")";
    if (name->repo.find('/') != std::string::npos) {
      message += cat("; `wick pull ", name->text(), "` would get it");
    } else {
      std::vector<std::string_view> known;
      for (const ShortName& one : short_names()) known.push_back(one.name);
      const std::string_view near = nearest(name->repo, known);
      if (!near.empty()) message += cat(" (did you mean ", near, "?)");
    }
  }
  return {ErrorCode::kIo, cat(message, hint)};
}

}  // namespace

std::optional<FoundModel> try_find_model(const std::string& text, const HubCache& cache) {
  std::error_code ignored;
  if (text.find('\0') != std::string::npos) return std::nullopt;
  if (fs::exists(text, ignored)) return FoundModel{text, {}};
  const auto name = parse_model_name(text);
  if (!name) return std::nullopt;
  const auto snapshot = cache.snapshot_of(*name);
  if (!snapshot) return std::nullopt;
  return FoundModel{pick(*snapshot, *name), *name};
}

FoundModel find_model(const std::string& text, std::string_view hint, const HubCache& cache) {
  auto found = try_find_model(text, cache);
  if (!found) throw not_found(text, hint, cache);
  return *std::move(found);
}

FoundModel find_model(const std::string& text, std::string_view hint) {
  std::error_code ignored;
  if (text.find('\0') == std::string::npos && fs::exists(text, ignored)) return {text, {}};
  return find_model(text, hint, HubCache::of_environment());
}

}  // namespace wick
