#include <algorithm>

#include "base/utf8.h"
#include "formats/checkpoint_state.h"
#include "formats/config_json.h"
#include "formats/find_weights.h"
#include "formats/gguf/ggml_bin.h"
#include "formats/gguf/gguf.h"
#include "formats/safetensors/safetensors.h"
#include "formats/safetensors/safetensors_index.h"
#include "formats/split_name.h"
#include "formats/torch/torch_archive.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxParts = 99999;  // five digits

int64_t integer_or(const Metadata& metadata, std::string_view key, int64_t fallback) {
  return metadata.find(key) ? metadata.integer(key) : fallback;
}

// The files of an index, all of them; names every one that is missing in one sentence.
std::vector<std::shared_ptr<const MappedFile>> open_shards(const SafetensorsIndex& index, const fs::path& index_path) {
  constexpr size_t kMostNamed = 5;
  const fs::path folder = index_path.parent_path();
  std::vector<std::string> missing;
  for (const std::string& name : index.shards) {
    std::error_code ignored;
    if (!fs::exists(folder / name, ignored)) missing.push_back(name);
  }
  if (!missing.empty()) {
    std::string names;
    for (size_t i = 0; i < std::min(missing.size(), kMostNamed); ++i)
      names += cat(i ? ", " : "", in_quotes(missing[i]));
    if (missing.size() > kMostNamed) names += ", ...";
    throw bad_file(index_path, cat(missing.size(), " of ", index.shards.size(), " shards are missing: ", names));
  }
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (const std::string& name : index.shards) files.push_back(MappedFile::open(folder / name));
  return files;
}

// A split GGUF says in every part which one it is. Throws unless this is part `number` of `count`, from 0.
void check_part(const MappedFile& file, const Metadata& metadata, int64_t number, int64_t count) {
  const int64_t own_number = integer_or(metadata, "split.no", -1);
  const int64_t own_count = integer_or(metadata, "split.count", -1);
  if (own_number == number && own_count == count) return;
  throw bad_file(file.path(), cat("says it is part ", own_number + 1, " of ", own_count, ", expected part ", number + 1,
                                  " of ", count));
}

// The names of the parts, from the name and the metadata of the file that was opened.
SplitName split_name_of(const MappedFile& first, const Metadata& metadata, int64_t count) {
  const int64_t number = integer_or(metadata, "split.no", 0);
  const auto name = parse_split_name(first.path().filename().string());
  const bool fits = name && name->count == count && name->number == number + 1;
  if (number != 0) {
    throw bad_file(first.path(), cat("is part ", number + 1, " of ", count, " of a split model; open ",
                                     fits ? in_quotes(name->part(1)) : std::string("the first part")));
  }
  if (!fits) {
    throw bad_file(first.path(),
                   cat("is the first of ", count, " parts, but its name does not end in '",
                       SplitName{"", 1, static_cast<int>(count)}.part(1), "' and so does not tell the others"));
  }
  return *name;
}

void add_sharded(CheckpointState& state, const MappedFile& index_file) {
  const fs::path& path = index_file.path();
  const SafetensorsIndex index = read_safetensors_index(index_file);
  auto shards = open_shards(index, path);
  std::vector<FileContents> contents;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (detect_kind(*shards[i]) != FileKind::kSafetensors)
      throw bad_file(shards[i]->path(), "is not a safetensors file");
    contents.push_back(read_safetensors(*shards[i], static_cast<int>(i)));
  }
  check_index(index, path, contents);
  for (size_t i = 0; i < shards.size(); ++i) state.add(std::move(shards[i]), std::move(contents[i]));
}

void add_safetensors(CheckpointState& state, std::shared_ptr<const MappedFile> file) {
  FileContents contents = read_safetensors(*file, 0);
  state.add(std::move(file), std::move(contents));
}

void add_torch(CheckpointState& state, std::shared_ptr<const MappedFile> file) {
  FileContents contents = read_torch_archive(*file, 0);
  state.add(std::move(file), std::move(contents));
}

void add_gguf(CheckpointState& state, std::shared_ptr<const MappedFile> file) {
  FileContents contents = read_gguf(file, static_cast<int>(state.files.size()));
  state.kind = Checkpoint::Kind::kGguf;
  state.add(std::move(file), std::move(contents));
}

void add_ggml_whisper(CheckpointState& state, std::shared_ptr<const MappedFile> file) {
  GgmlWhisper whisper = read_ggml_whisper(*file, 0);
  state.kind = Checkpoint::Kind::kGgmlWhisper;
  state.config = std::move(whisper.config);
  state.add(std::move(file), std::move(whisper.contents));
}

void add_other_parts(CheckpointState& state) {
  const MappedFile& first = *state.files[0];
  const int64_t count = integer_or(state.metadata, "split.count", 1);
  if (count < 0 || count > kMaxParts) {
    throw bad_file(first.path(), cat("'split.count' is ", count, ", the most is ", kMaxParts));
  }
  if (count <= 1) return;
  const SplitName names = split_name_of(first, state.metadata, count);
  for (int i = 1; i < count; ++i) {
    auto part = MappedFile::open(state.folder / names.part(i + 1));
    if (detect_kind(*part) != FileKind::kGguf) throw bad_file(part->path(), "is not a GGUF file");
    FileContents contents = read_gguf(part, i);
    check_part(*part, contents.metadata, i, count);
    state.add(std::move(part), std::move(contents));
  }
  const auto found = static_cast<int64_t>(state.entries.size());
  const int64_t total = integer_or(state.metadata, "split.tensors.count", found);
  if (found != total) {
    throw bad_file(first.path(), cat("'split.tensors.count' is ", total, " but the ", count, " parts hold ", found));
  }
}

}  // namespace

Checkpoint Checkpoint::parse(std::shared_ptr<const MappedFile> file, Json config) {
  auto state = std::make_shared<CheckpointState>();
  state->config = std::move(config);
  switch (detect_kind(*file)) {
    case FileKind::kSafetensors: add_safetensors(*state, std::move(file)); break;
    case FileKind::kTorch: add_torch(*state, std::move(file)); break;
    case FileKind::kGguf: add_gguf(*state, std::move(file)); break;
    case FileKind::kGgmlWhisper: add_ggml_whisper(*state, std::move(file)); break;
    case FileKind::kSafetensorsIndex:
      throw bad_file(file->path(), "is an index of safetensors files, not a file with tensors");
  }
  state->index_names();
  return Checkpoint(std::move(state));
}

Checkpoint Checkpoint::open(const fs::path& path) {
  std::error_code ignored;
  const fs::path target = fs::is_directory(path, ignored) ? find_weights(path) : path;
  auto file = MappedFile::open(target);
  auto state = std::make_shared<CheckpointState>();
  state->folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  switch (detect_kind(*file)) {
    case FileKind::kSafetensors: add_safetensors(*state, std::move(file)); break;
    case FileKind::kTorch: add_torch(*state, std::move(file)); break;
    case FileKind::kSafetensorsIndex: add_sharded(*state, *file); break;
    case FileKind::kGguf:
      add_gguf(*state, std::move(file));
      add_other_parts(*state);
      break;
    case FileKind::kGgmlWhisper: add_ggml_whisper(*state, std::move(file)); break;
  }
  state->index_names();
  const fs::path config = state->folder / "config.json";
  if (state->kind == Kind::kSafetensors && fs::exists(config, ignored)) state->config = load_config_json(config);
  return Checkpoint(std::move(state));
}

}  // namespace wick
