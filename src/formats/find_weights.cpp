#include "formats/find_weights.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/utf8.h"
#include "formats/gguf/ggml_bin.h"
#include "formats/gguf/gguf.h"
#include "formats/safetensors/safetensors.h"
#include "formats/split_name.h"
#include "formats/torch/torch_archive.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// Names in the folder that are weights, sorted; parts of a split GGUF other than the first are left out.
std::vector<std::string> weight_files(const fs::path& folder, std::string_view beginning, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem)) {
    const std::string name = at->path().filename().string();
    const auto split = parse_split_name(name);
    const bool later_part = split && split->number > 1;
    const bool vision_part = name.starts_with("mmproj");  // lies beside the language model it belongs to
    const bool wanted = name.starts_with(beginning) && name.ends_with(ending);
    if (wanted && !later_part && !vision_part) names.push_back(name);
  }
  if (problem) throw Error(ErrorCode::kIo, cat(folder, ": cannot read: ", problem.message()));
  std::sort(names.begin(), names.end());
  return names;
}

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) text += cat(i ? ", " : "", in_quotes(names[i]));
  return names.size() > kMost ? cat(text, " and ", names.size() - kMost, " more") : text;
}

struct Mistaken {
  std::string_view magic;
  std::string_view what;
};
constexpr Mistaken kMistaken[] = {
    {"\x80\x02", "is a bare Python pickle, as PyTorch saved before 1.6; Wick reads safetensors, GGUF and later ones"},
    {"fmgg", "is a ggml file from before GGUF; convert the model again"},
    {"tjgg", "is a ggml file from before GGUF; convert the model again"},
    {"version https://git-lfs", "is a Git LFS pointer, not the file itself; fetch it with 'git lfs pull'"},
    {"<!DOCTYPE", "is a web page, not a model file"},
    {"<html", "is a web page, not a model file"},
};

}  // namespace

fs::path find_weights(const fs::path& folder) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "diffusion_pytorch_model.safetensors",
                           "diffusion_pytorch_model.safetensors.index.json"}) {
    std::error_code ignored;
    if (fs::exists(folder / name, ignored)) return folder / name;
  }
  using Ends = std::pair<std::string_view, std::string_view>;
  for (const auto& [beginning, ending] :
       {Ends("", ".safetensors.index.json"), Ends("", ".safetensors"), Ends("", ".gguf"), Ends("ggml-", ".bin")}) {
    const auto names = weight_files(folder, beginning, ending);
    if (names.size() == 1) return folder / names[0];
    if (names.size() > 1) {
      throw bad_file(folder, cat("holds several model files: ", listed(names), "; name the one to open"));
    }
  }
  std::error_code ignored;
  if (fs::exists(folder / "pytorch_model.bin", ignored)) return folder / "pytorch_model.bin";
  throw bad_file(folder, "holds no .safetensors or .gguf file");
}

FileKind detect_kind(const MappedFile& file) {
  const auto bytes = file.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kGgufMagic)) return FileKind::kGguf;
  if (text.starts_with(kGgmlMagic)) return FileKind::kGgmlWhisper;
  if (text.starts_with(kTorchMagic)) return FileKind::kTorch;
  uint64_t header_bytes = 0;
  if (text.size() >= sizeof(header_bytes)) std::memcpy(&header_bytes, text.data(), sizeof(header_bytes));
  // The length of a header, seen as text, ends in zeros: no text looks like it.
  if (header_bytes > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    for (const Mistaken& mistaken : kMistaken) {
      if (text.starts_with(mistaken.magic)) throw bad_file(file.path(), std::string(mistaken.what));
    }
    const size_t first = text.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && text[first] == '{') return FileKind::kSafetensorsIndex;
  }
  return FileKind::kSafetensors;
}

}  // namespace wick
