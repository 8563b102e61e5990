#include "cli/models/named_model.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/text.h"
#include "cli/models/file_kind.h"
#include "cli/models/presets.h"
#include "cli/shared_options.h"
#include "hub/find_model.h"

namespace wick {
namespace fs = std::filesystem;
namespace {

// A model inside this program as files, for what reads files.
class BuiltInFolder {
 public:
  BuiltInFolder(const std::string& name, const BuiltInModel& model) {
    std::string pattern = (fs::temp_directory_path() / "wick-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw Error(ErrorCode::kIo, cat(pattern, ": cannot create: ", std::strerror(errno)));
    root_ = pattern;
    folder_ = root_ / name;
    fs::create_directory(folder_);
    write("model.safetensors", model.model);
    write("config.json", model.config);
    write("generation_config.json", model.generation_config);
    write("tokenizer.json", model.tokenizer);
    write("tokenizer_config.json", model.tokenizer_config);
  }
  ~BuiltInFolder() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  BuiltInFolder(const BuiltInFolder&) = delete;
  BuiltInFolder& operator=(const BuiltInFolder&) = delete;

  const fs::path& path() const { return folder_; }

 private:
  void write(const char* name, std::string_view bytes) const {
    std::ofstream file(folder_ / name, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    file.close();
    if (!file) throw Error(ErrorCode::kIo, cat(folder_ / name, ": cannot write"));
  }

  fs::path root_, folder_;
};

std::optional<fs::path> built_in_path(const std::string& name) {
  if (name == "ember") {
    static const BuiltInFolder folder(name, ember_files());
    return folder.path();
  }
  if (name == "ember-asr") {
    static const BuiltInFolder folder(name, ember_asr_files());
    return folder.path();
  }
  return std::nullopt;
}

// The model that a preset stands for, else the name itself.
std::string without_preset(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(name, ignored)) return name;
  const Preset* preset = find_preset(name);
  return preset ? preset->model : name;
}

}  // namespace

std::optional<fs::path> try_named_path(const std::string& name) {
  std::error_code ignored;
  const std::string text = without_preset(name);
  if (fs::exists(text, ignored)) return text;
  if (const auto path = built_in_path(text)) return path;
  const auto found = try_find_model(text, HubCache::of_environment());
  return found ? std::optional(found->path) : std::nullopt;
}

fs::path named_path(const std::string& name, std::string_view hint) {
  const auto found = try_named_path(name);
  return found ? *found : find_model(without_preset(name), hint).path;  // which throws
}

fs::path model_path(const std::string& name, std::string_view hint) {
  fs::path path = named_path(name, hint);
  const std::string other = other_kind_of_file(path);
  if (!other.empty()) throw Error(ErrorCode::kBadFile, cat(path.string(), ": ", other));
  return path;
}

std::shared_ptr<const TextModel> load_named_model(const std::string& name, const LoadOptions& options) {
  std::error_code ignored;
  LoadOptions telling = options;
  telling.notice = warn;
  const std::string text = name.empty() ? "ember" : without_preset(name);
  if (text == "ember" && (name.empty() || !fs::exists(text, ignored))) return TextModel::ember(telling);
  const std::string_view end =
      reads_like_a_prompt(text) ? "; wick run takes a prompt with -p" : "; without MODEL, Ember answers";
  return TextModel::load(
      model_path(text, cat(". MODEL is a Hugging Face folder, a .gguf or a .safetensors file, or Org/Name", end)),
      telling);
}

bool reads_like_a_prompt(const std::string& words) {
  const auto begins = [&](std::string_view text) { return words.starts_with(text); };
  if (begins("/") || begins("./") || begins("../") || begins("~")) return false;
  if (words.ends_with(".gguf") || words.ends_with(".safetensors")) return false;
  const bool has_blank = words.find_first_of(" \t\n") != std::string::npos;
  if (!has_blank && words.find('/') != std::string::npos) return false;
  return !words.empty() && !parse_model_name(words);
}

}  // namespace wick
