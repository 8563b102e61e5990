#pragma once

#include "formats/file_contents.h"

namespace wick {

// model.safetensors.index.json: which file of the folder holds which tensor.
//
// Layout: {"metadata": {...}, "weight_map": {tensor name: file name}}
struct SafetensorsIndex {
  std::vector<std::string> shards;                    // file names without a folder, sorted
  std::vector<std::pair<std::string, size_t>> items;  // tensor, index into shards; sorted by name
};

SafetensorsIndex read_safetensors_index(const MappedFile& file);

// Throws unless index and files list the same tensors in the same places. `contents[i]` is that of shards[i].
void check_index(const SafetensorsIndex& index, const std::filesystem::path& index_path,
                 const std::vector<FileContents>& contents);

}  // namespace wick
