#include "hub/choose_files.h"

#include <fnmatch.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/nearest.h"
#include "base/text.h"
#include "base/utf8.h"

namespace wick {
namespace {

// Folders that hold the model once more, for other programs.
constexpr std::string_view kOtherFolders[] = {"original/", "onnx/", "coreml/", "openvino/", "tensorrt/", "mlx/",
                                              "gguf/",     "flax/", "tf/",     "metal/",    ".git/"};
constexpr std::string_view kEndings[] = {".json", ".safetensors", ".model", ".txt", ".jinja", ".tiktoken"};
constexpr std::string_view kForeignWeights[] = {".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx", ".ot"};

template <typename Endings>
bool ends_with_any(std::string_view name, const Endings& endings) {
  return std::any_of(std::begin(endings), std::end(endings), [&](std::string_view end) { return name.ends_with(end); });
}

bool is_elsewhere(std::string_view name) {
  return std::any_of(std::begin(kOtherFolders), std::end(kOtherFolders),
                     [&](std::string_view folder) { return name.starts_with(folder); });
}

// "model.fp16.safetensors" beside "model.safetensors", "consolidated.safetensors" beside "model-...".
bool is_second_copy(const std::string& name, const std::set<std::string, std::less<>>& names) {
  for (const std::string_view mark : {".fp16.", ".bf16.", ".fp32.", ".non_ema."}) {
    const size_t at = name.find(mark);
    if (at != std::string::npos && names.count(name.substr(0, at) + name.substr(at + mark.size() - 1))) return true;
  }
  if (!name.starts_with("consolidated")) return false;
  return names.count("model.safetensors") || names.count("model.safetensors.index.json");
}

std::vector<RepoFile> files_named(const RepoListing& listing, const std::vector<std::string>& names) {
  std::vector<RepoFile> files;
  for (const RepoFile& file : listing.files) {
    if (std::find(names.begin(), names.end(), file.name) != names.end()) files.push_back(file);
  }
  return files;
}

std::vector<RepoFile> included(const RepoListing& listing, const std::vector<std::string>& patterns) {
  std::vector<RepoFile> files;
  for (const RepoFile& file : listing.files) {
    const bool matches = std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
      return fnmatch(pattern.c_str(), file.name.c_str(), 0) == 0;
    });
    if (matches) files.push_back(file);
  }
  return files;
}

Error no_such(const RepoListing& listing, const ModelName& name, const std::string& wanted) {
  std::vector<std::string_view> names;
  for (const RepoFile& file : listing.files) names.push_back(file.name);
  const std::string_view near = nearest(wanted, names);
  return {ErrorCode::kInvalidArgument,
          cat(name.repo, ": none of its ", listing.files.size(), " files is ", in_quotes(wanted),
              near.empty() ? std::string() : cat("; there is ", in_quotes(near)))};
}

// Settings and safetensors, or everything but weights when the repository has none of those.
FileChoice whole_model(const RepoListing& listing, const ModelName& name, const std::vector<GgufModelFiles>& models) {
  std::set<std::string, std::less<>> names;
  for (const RepoFile& file : listing.files) names.insert(file.name);
  FileChoice choice;
  bool has_safetensors = false;
  const RepoFile* foreign = nullptr;
  for (const RepoFile& file : listing.files) {
    if (ends_with_any(file.name, kForeignWeights)) foreign = &file;
    if (is_elsewhere(file.name) || !ends_with_any(file.name, kEndings) || is_second_copy(file.name, names)) continue;
    has_safetensors = has_safetensors || file.name.ends_with(".safetensors");
    choice.files.push_back(file);
  }
  if (has_safetensors) return choice;
  if (models.size() > 1) return {{}, models};
  if (models.size() == 1) return {files_named(listing, models[0].files), {}};
  if (foreign) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(name.repo, ": holds no safetensors or GGUF file, only weights that Wick does not read (",
                    in_quotes(foreign->name), "); --include downloads them all the same"));
  }
  if (choice.files.empty()) throw no_such(listing, name, "*.safetensors");
  return choice;
}

}  // namespace

FileChoice choose_files(const RepoListing& listing, const ModelName& name, const std::vector<std::string>& include) {
  if (!include.empty()) {
    FileChoice choice{included(listing, include), {}};
    if (choice.files.empty()) throw no_such(listing, name, include.front());
    return choice;
  }
  std::vector<NamedSize> sizes;
  for (const RepoFile& file : listing.files) sizes.push_back({file.name, file.bytes});
  const auto models = gguf_models(sizes);
  if (!name.file.empty()) {
    for (const GgufModelFiles& model : models) {  // all parts of a split model
      if (model.files.front() == name.file) return {files_named(listing, model.files), {}};
    }
    FileChoice choice{files_named(listing, {name.file}), {}};
    if (choice.files.empty()) throw no_such(listing, name, name.file);
    return choice;
  }
  if (name.variant.empty()) return whole_model(listing, name, models);
  const auto found = gguf_models_of(models, name.variant);
  if (found.size() == 1) return {files_named(listing, found[0].files), {}};
  if (found.size() > 1) return {{}, found};
  if (models.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                cat(name.repo, ": holds no GGUF file, so there is no ", in_quotes(name.variant)));
  }
  return {{}, models};
}

}  // namespace wick
