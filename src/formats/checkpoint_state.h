#pragma once

#include <unordered_map>

#include "formats/checkpoint.h"
#include "formats/file_contents.h"

namespace wick {

// What copies of a Checkpoint share; never changes once it is built.
struct CheckpointState {
  Checkpoint::Kind kind = Checkpoint::Kind::kSafetensors;
  std::filesystem::path folder;
  std::vector<std::shared_ptr<const MappedFile>> files;
  std::vector<TensorEntry> entries;
  std::unordered_map<std::string_view, size_t> places;  // views of the names in entries
  Metadata metadata;
  Json config;

  // Adds the tensors of one file. The metadata of the first file stands for all.
  void add(std::shared_ptr<const MappedFile> file, FileContents contents);
  // Fills `places`. Throws Error(kBadFile) for a name that is listed twice or in two files.
  void index_names();
};

}  // namespace wick
