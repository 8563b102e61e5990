#pragma once

#include <string>
#include <vector>

namespace wick {

// A file that is wrong in one way, and the sentence it must get. The same files seed the fuzzers.
struct DamagedFile {
  std::string what;
  std::string bytes;
  std::string sentence;  // without the file name in front
};

std::vector<DamagedFile> damaged_safetensors();
std::vector<DamagedFile> damaged_gguf();
std::vector<DamagedFile> damaged_ggml();
std::vector<DamagedFile> damaged_indexes();

// Small files that are right and use every part of the format.
std::string good_safetensors();
std::string good_gguf();
std::string good_ggml();
std::string good_index();

}  // namespace wick
