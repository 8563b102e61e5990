#include "hub/cached_models.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/process.h"
#include "hub/file_lock.h"
#include "hub/find_model.h"
#include "hub/short_names.h"
#include "support/errors.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

const std::string kFirst(40, 'a'), kSecond(40, 'b');

class CachedModels : public testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  // As huggingface_hub lays it out: a link to a blob.
  void add(const std::string& repo, const std::string& commit, const std::string& file, const std::string& blob,
           size_t bytes) {
    const fs::path folder = cache().folder_of(repo), link = folder / "snapshots" / commit / file;
    write(folder / "blobs" / blob, std::string(bytes, 'x'));
    fs::create_directories(link.parent_path());
    fs::create_symlink(fs::relative(folder / "blobs" / blob, link.parent_path()), link);
  }
  void name(const std::string& repo, const std::string& revision, const std::string& commit) {
    write(cache().folder_of(repo) / "refs" / revision, commit);
  }
  HubCache cache() const { return HubCache(folder_.path() / "hub"); }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const StoredModel& model : cached_models(cache())) {
      names.push_back(cat(model.name, " ", model.bytes, " ", model.kind));
    }
    return names;
  }
  void fill() {
    add("org/m", kFirst, "model.safetensors", "m1", 1000);
    add("org/m", kFirst, "config.json", "c1", 10);
    add("org/m", kSecond, "model.safetensors", "m2", 2000);
    add("org/m", kSecond, "config.json", "c1", 10);
    name("org/m", "main", kFirst);
    name("org/m", "v2", kSecond);
    add("org/g", kFirst, "g-Q4_K_M.gguf", "q4", 400);
    add("org/g", kFirst, "g-Q8_0.gguf", "q8", 800);
    name("org/g", "main", kFirst);
  }
  ProcessResult wick(const std::vector<std::string>& words) {
    return run_process(WICK_PROGRAM, words, {cat("HF_HUB_CACHE=", cache().root().string())});
  }
  TempFolder folder_;
};

TEST_F(CachedModels, AreListedByNamesThatFindThem) {
  EXPECT_TRUE(names().empty());
  fill();
  EXPECT_EQ(names(), (std::vector<std::string>{"org/g:Q4_K_M 400 GGUF Q4_K_M", "org/g:Q8_0 800 GGUF Q8_0",
                                               "org/m 1010 safetensors, with a damaged config.json",
                                               "org/m@v2 2010 safetensors, with a damaged config.json"}));
  for (const StoredModel& model : cached_models(cache())) {
    EXPECT_EQ(find_model(model.name, "", cache()).path, model.path) << model.name;
    EXPECT_GT(model.used, 1'600'000'000);
  }
}

TEST_F(CachedModels, FoldersAreLookedInto) {
  write(folder_.path() / "here" / "tiny-Q8_0.gguf", "GGUF");
  write(folder_.path() / "here" / "qwen" / "config.json", R"({"model_type": "qwen3", "torch_dtype": "bfloat16"})");
  write(folder_.path() / "here" / "qwen" / "model.safetensors", "x");
  write(folder_.path() / "here" / "other" / "notes.txt", "x");
  const auto models = models_in_folder(folder_.path() / "here");
  ASSERT_EQ(models.size(), 2u);
  EXPECT_EQ(models[0].path, folder_.path() / "here" / "tiny-Q8_0.gguf");
  EXPECT_EQ(models[1].kind, "safetensors, qwen3 bfloat16");
}

TEST_F(CachedModels, ARemovalTakesWhatNothingElseUses) {
  fill();
  const auto removal = plan_removal(cache(), *parse_model_name("org/m@v2"));
  ASSERT_TRUE(removal);
  EXPECT_EQ(removal->bytes, 2000) << "config.json is the other one's, too";
  remove_paths(*removal);
  EXPECT_EQ(names().size(), 3u);
  EXPECT_TRUE(fs::exists(cache().folder_of("org/m") / "blobs" / "c1"));
  EXPECT_FALSE(fs::exists(cache().folder_of("org/m") / "blobs" / "m2"));
  EXPECT_FALSE(try_find_model("org/m@v2", cache()));

  remove_paths(*plan_removal(cache(), *parse_model_name("org/g:Q8_0")));
  EXPECT_EQ(names().at(0), "org/g 400 GGUF Q4_K_M");
  EXPECT_ERROR(plan_removal(cache(), *parse_model_name("org/g:Q2_K")), kInvalidArgument, "no GGUF file of that type");
  remove_paths(*plan_removal(cache(), *parse_model_name("org/m")));
  EXPECT_FALSE(fs::exists(cache().folder_of("org/m")));
  EXPECT_FALSE(plan_removal(cache(), *parse_model_name("org/m")));
  EXPECT_FALSE(plan_removal(cache(), *parse_model_name("org/none")));
}

TEST_F(CachedModels, StayWhileTheyAreDownloaded) {
  fill();
  const auto lock = FileLock::try_lock(cache().lock_of("org/m", "m1"));
  ASSERT_TRUE(lock);
  EXPECT_ERROR(plan_removal(cache(), *parse_model_name("org/m")), kIo, "org/m: is being downloaded");
}

TEST_F(CachedModels, TheCommandsShowAndRemove) {
  fill();
  const auto list = nlohmann::json::parse(wick({"list", "--json", folder_.path().string()}).output);
  EXPECT_EQ(list.at("models").at(0).at("name"), "org/g:Q4_K_M");
  EXPECT_EQ(list.at("bytes"), 400 + 800 + 1010 + 2010);
  EXPECT_NE(wick({"list"}).output.find("org/m@v2"), std::string::npos);
  const auto asked = wick({"rm", "org/m"});
  EXPECT_EQ(asked.exit_code, 1);
  EXPECT_NE(asked.errors.find("nobody is there to ask; --yes"), std::string::npos) << asked.errors;
  EXPECT_EQ(names().size(), 4u);
  EXPECT_EQ(wick({"rm", "org/m", "--yes"}).exit_code, 0);
  EXPECT_EQ(names().size(), 2u);
  EXPECT_NE(wick({"rm", "org/m", "-y"}).errors.find("org/m: is not in "), std::string::npos);
  EXPECT_NE(wick({"rm", folder_.path().string(), "-y"}).errors.find("is no name of a model in the cache"),
            std::string::npos);
  EXPECT_TRUE(fs::exists(folder_.path()));
}

TEST(ShortNames, StandForRepositories) {
  EXPECT_EQ(parse_model_name("qwen3-0.6b")->text(), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(parse_model_name("Qwen3:0.6B")->text(), "Qwen/Qwen3-0.6B");
  EXPECT_EQ(parse_model_name("whisper-base@v1")->text(), "openai/whisper-base@v1");
  EXPECT_EQ(parse_model_name("gpt2")->text(), "gpt2") << "old models have no owner";
  const TempFolder folder;
  EXPECT_ERROR(find_model("qwen3-0.6b", "", HubCache(folder.path())), kIo, "`wick pull Qwen/Qwen3-0.6B` would get it");
  EXPECT_ERROR(find_model("qwen3-0.6", "", HubCache(folder.path())), kIo, "did you mean qwen3-0.6b?");
  for (const ShortName& known : short_names()) {
    EXPECT_EQ(parse_model_name(known.name)->repo, known.repo);
    EXPECT_EQ(parse_model_name(known.repo)->repo, known.repo) << "a name of the hub";
    EXPECT_EQ(repo_of_short_name(known.name), known.repo);
  }
}

}  // namespace
}  // namespace wick
