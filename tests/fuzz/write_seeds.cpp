// Writes the fuzzers' first inputs: write_seeds FOLDER makes a folder for each fuzzer in it.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "fuzz/template_harness.h"
#include "support/damaged_files.h"
#include "support/hostile_templates.h"
#include "tensor/dtype.h"

namespace {

void write(const std::filesystem::path& folder, const std::string& good, const std::vector<wick::DamagedFile>& bad) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "good", std::ios::binary) << good;
  for (size_t i = 0; i < bad.size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << bad[i].bytes;
  }
}

// Two blocks of every dtype, of bytes that differ.
void write_tensor_data(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  for (int packed = 0; packed < wick::kDTypeCount - wick::kElementDTypeCount; ++packed) {
    std::string bytes(1, static_cast<char>(packed));
    for (int i = 0; i < 2048; ++i) bytes += static_cast<char>(i * 37 + packed);
    std::ofstream(folder / std::to_string(packed), std::ios::binary) << bytes;
  }
}

void write_templates(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::vector<std::string> sources = wick::template_seeds();
  for (const wick::HostileTemplate& hostile : wick::hostile_templates()) {
    if (hostile.source.size() < 2000) sources.push_back(hostile.source);
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    std::ofstream(folder / std::to_string(i), std::ios::binary) << sources[i];
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
  write_tensor_data(folder / "tensor_data");
  write_templates(folder / "template");
}
