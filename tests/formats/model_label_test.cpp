#include "formats/model_label.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

TEST(ModelLabel, IsWhatPeopleCallIt) {
  const TempFolder folder;
  const fs::path plain = folder.path() / "Qwen3-0.6B";
  fs::create_directory(plain);
  std::ofstream(plain / "model-Q4_K_M.gguf") << "x";
  EXPECT_EQ(model_label(plain), "Qwen3-0.6B");
  EXPECT_EQ(model_label(plain / ""), "Qwen3-0.6B");
  EXPECT_EQ(model_label(plain / "." / ".." / "Qwen3-0.6B"), "Qwen3-0.6B");
  EXPECT_EQ(model_label(plain / "model-Q4_K_M.gguf"), "model-Q4_K_M");

  const fs::path snapshot = folder.path() / "models--Qwen--Qwen3-ASR--x" / "snapshots" / "0123abcd";
  fs::create_directories(snapshot);
  std::ofstream(folder.path() / "5feceb66ffc8") << "a blob";
  fs::create_symlink(folder.path() / "5feceb66ffc8", snapshot / "model.gguf");
  EXPECT_EQ(model_label(snapshot), "Qwen/Qwen3-ASR--x");
  EXPECT_EQ(model_label(snapshot / "model.gguf"), "model");
}

}  // namespace
}  // namespace wick
