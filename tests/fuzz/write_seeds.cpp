// Writes the fuzzers' first inputs: write_seeds FOLDER makes FOLDER/safetensors, FOLDER/gguf and FOLDER/index.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "support/damaged_files.h"

namespace {

void write(const std::filesystem::path& folder, const std::string& good, const std::vector<wick::DamagedFile>& bad) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "good", std::ios::binary) << good;
  for (size_t i = 0; i < bad.size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << bad[i].bytes;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_seeds FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  write(folder / "safetensors", wick::good_safetensors(), wick::damaged_safetensors());
  write(folder / "gguf", wick::good_gguf(), wick::damaged_gguf());
  write(folder / "index", wick::good_index(), wick::damaged_indexes());
}
