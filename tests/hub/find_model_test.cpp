#include "hub/find_model.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/env.h"
#include "base/text.h"
#include "support/errors.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

const std::string kCommit(40, 'a'), kOther(40, 'b');

class FindModel : public testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text = "x") {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  fs::path snapshot(const std::string& folder, const std::string& commit) {
    return root() / folder / "snapshots" / commit;
  }
  void add(const std::string& folder, const std::string& commit, const std::vector<std::string>& files) {
    for (const std::string& file : files) write(snapshot(folder, commit) / file);
  }
  fs::path root() const { return folder_.path() / "hub"; }
  fs::path find(const std::string& text) { return find_model(text, "", HubCache(root())).path; }

  TempFolder folder_;
};

TEST_F(FindModel, AnExistingPathWins) {
  add("models--org--m", kCommit, {"config.json"});
  write(root() / "models--org--m/refs/main", kCommit);
  const auto here = find_model(folder_.path().string(), "", HubCache(root()));
  EXPECT_EQ(here.path, folder_.path());
  EXPECT_FALSE(here.name);
}

TEST_F(FindModel, NamesMeanSnapshots) {
  add("models--org--m", kCommit, {"config.json", "model.safetensors"});
  add("models--org--m", kOther, {"config.json", "model.safetensors"});
  write(root() / "models--org--m/refs/main", kCommit);
  write(root() / "models--org--m/refs/refs/pr/1", kOther + "\n");
  EXPECT_EQ(find("org/m"), snapshot("models--org--m", kCommit));
  EXPECT_EQ(find("org/m@refs/pr/1"), snapshot("models--org--m", kOther));
  EXPECT_EQ(find("org/m@" + kOther), snapshot("models--org--m", kOther));
  EXPECT_EQ(find("org/m/config.json"), snapshot("models--org--m", kCommit) / "config.json");
  EXPECT_EQ(find_model("org/m", "", HubCache(root())).name->repo, "org/m");
  EXPECT_ERROR(find("org/m@v2"), kIo, "`wick pull org/m@v2` would get it");
  EXPECT_ERROR(find("org/m/other.json"), kIo, "'other.json': not in ");
}

TEST_F(FindModel, PicksAmongGgufFiles) {
  add("models--org--g", kCommit,
      {"m-Q4_K_M.gguf", "m-Q8_0.gguf", "BF16/m-BF16-00001-of-00002.gguf", "BF16/m-BF16-00002-of-00002.gguf",
       "mmproj-F16.gguf"});
  write(root() / "models--org--g/refs/main", kCommit);
  const fs::path folder = snapshot("models--org--g", kCommit);
  EXPECT_EQ(find("org/g:Q4_K_M"), folder / "m-Q4_K_M.gguf");
  EXPECT_EQ(find("org/g:q8_0"), folder / "m-Q8_0.gguf");
  EXPECT_EQ(find("org/g:bf16"), folder / "BF16/m-BF16-00001-of-00002.gguf");
  EXPECT_EQ(find("org/g/m-Q8_0.gguf"), folder / "m-Q8_0.gguf");
  EXPECT_ERROR(find("org/g"), kInvalidArgument,
               "the cache holds 3 models of it: choose org/g:BF16, org/g:Q4_K_M, org/g:Q8_0");
  EXPECT_ERROR(find("org/g:Q4_K"), kIo, "org/g:Q4_K: no such GGUF file in ");
  EXPECT_ERROR(find("org/g:Q4_K"), kIo, "`wick pull org/g:Q4_K` downloads it if org/g has one");
  add("models--org--one", kCommit, {"only.gguf"});
  write(root() / "models--org--one/refs/main", kCommit);
  EXPECT_EQ(find("org/one"), snapshot("models--org--one", kCommit) / "only.gguf");
}

TEST_F(FindModel, SaysWhereItLookedAndWhatIsNear) {
  add("models--Qwen--Qwen3-0.6B", kCommit, {"config.json"});
  add("models--other--Qwen3-0.6B-GGUF", kCommit, {"x.gguf"});
  add("models--gpt2", kCommit, {"config.json"});
  EXPECT_ERROR(find("Qwen/Qwen3-0.6b"), kIo,
               cat("'Qwen/Qwen3-0.6b': there is no such file or folder, and no model of that name in ", root(),
                   " (there is Qwen/Qwen3-0.6B); `wick pull Qwen/Qwen3-0.6b` would get it"));
  EXPECT_ERROR(find("me/qwen3-0.6b-gguf"), kIo, "(there is other/Qwen3-0.6B-GGUF)");
  EXPECT_ERROR(find("gpt3"), kIo, "(there is gpt2)");
  EXPECT_ERROR(find_model("/no/such", ". Hint", HubCache(root())), kIo,
               "'/no/such': there is no such file or folder. Hint");
  EXPECT_EQ(HubCache(root()).repos(), (std::vector<std::string>{"Qwen/Qwen3-0.6B", "gpt2", "other/Qwen3-0.6B-GGUF"}));
}

TEST_F(FindModel, NothingLeavesTheCache) {
  write(folder_.path() / "secret" / "config.json");
  add("models--org--m", kCommit, {"config.json"});
  for (const char* ref : {"../../../secret", "/etc", "..", "", "zz"}) {
    write(root() / "models--org--m/refs/main", ref);
    EXPECT_ERROR(find("org/m"), kIo, "there is no such file or folder");
  }
  write(root() / "models--org--m/refs/main", kCommit);
  for (const std::string text : {"org/m/../../../../secret/config.json", "org/m@../../../secret", "../secret",
                                 "models--org--m", "org/m/snapshots/../x"}) {
    EXPECT_ERROR(find(text), kIo, "there is no such file or folder");
  }
  EXPECT_ERROR(find(std::string("/tmp\0/x", 7)), kIo, "there is no such file or folder");
}

TEST(HubCache, FollowsTheEnvironment) {
  for (const char* name : {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) unsetenv(name);
  const std::string home = env_text("HOME").value_or("/");
  setenv("HOME", "/home/tom", 1);
  EXPECT_EQ(HubCache::of_environment().root(), "/home/tom/.cache/huggingface/hub");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(HubCache::of_environment().root(), "/cache/huggingface/hub");
  setenv("HF_HOME", "/hf", 1);
  EXPECT_EQ(HubCache::of_environment().root(), "/hf/hub");
  setenv("HF_HUB_CACHE", "/models", 1);
  EXPECT_EQ(HubCache::of_environment().root(), "/models");
  setenv("HF_HUB_CACHE", "~/models", 1);
  EXPECT_EQ(HubCache::of_environment().root(), "/home/tom/models");
  setenv("HOME", home.c_str(), 1);
  for (const char* name : {"HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"}) unsetenv(name);
}

}  // namespace
}  // namespace wick
