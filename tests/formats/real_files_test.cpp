#include <gtest/gtest.h>

#include "formats/checkpoint.h"
#include "formats/gguf/gguf_writer.h"
#include "formats/safetensors/safetensors_writer.h"
#include "support/fixtures.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> fixture_files(const std::string& ending) {
  std::vector<fs::path> paths;
  for (const auto& root : fixture_roots()) {
    if (!fs::is_directory(root)) continue;
    for (const auto& item : fs::recursive_directory_iterator(root)) {
      if (item.path().string().ends_with(ending)) paths.push_back(item.path());
    }
  }
  return paths;
}

void expect_same(const Checkpoint& a, const Checkpoint& b) {
  ASSERT_EQ(a.entries().size(), b.entries().size());
  for (const TensorEntry& entry : a.entries()) {
    const TensorEntry* other = b.find(entry.name);
    ASSERT_NE(other, nullptr) << entry.name;
    EXPECT_EQ(entry.shape, other->shape);
    EXPECT_EQ(entry.dtype, other->dtype);
    const auto bytes = a.files()[entry.file]->bytes().subspan(entry.offset, entry.bytes);
    const auto others = b.files()[other->file]->bytes().subspan(other->offset, other->bytes);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), others.begin(), others.end())) << entry.name;
  }
}

std::vector<TensorSpec> specs_of(const Checkpoint& checkpoint) {
  std::vector<TensorSpec> specs;
  for (const TensorEntry& entry : checkpoint.entries()) specs.push_back({entry.name, *entry.dtype, entry.shape});
  return specs;
}

TEST(RealFiles, ShardedFolder) {
  const auto folders = fixture_folders("qwen3-sharded-bf16");
  ASSERT_FALSE(folders.empty());
  for (const auto& folder : folders) {
    const Checkpoint checkpoint = Checkpoint::open(folder);
    EXPECT_EQ(checkpoint.files().size(), 5u);
    int64_t parameters = 0;
    for (const TensorEntry& entry : checkpoint.entries()) {
      parameters += entry.shape.numel();
      EXPECT_EQ(checkpoint.get(entry.name).dtype(), DType::kBF16);
    }
    const Json index = Json::load(folder / "model.safetensors.index.json");
    EXPECT_EQ(parameters, index.at("metadata").at("total_parameters").as_int());
    EXPECT_EQ(checkpoint.config().at("model_type").as_text(), "qwen3");
  }
}

// The models among the fixtures were written by the format's own library: same tensors, same bytes.
TEST(RealFiles, SafetensorsAreCopiedLikeTheLibraryWritesThem) {
  const TempFolder folder;
  for (const auto& path : fixture_files(".safetensors")) {
    SCOPED_TRACE(path);
    const Checkpoint original = Checkpoint::open(path);
    SafetensorsWriter safetensors(folder.path() / "copy.safetensors", specs_of(original), original.metadata());
    for (const TensorEntry& entry : original.entries()) safetensors.write(entry.name, original.get(entry));
    safetensors.finish();
    const Checkpoint copy = Checkpoint::open(folder.path() / "copy.safetensors");
    expect_same(original, copy);
    if (!path.filename().string().starts_with("model")) continue;
    const auto bytes = original.files()[0]->bytes();
    const auto copied = copy.files()[0]->bytes();
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), copied.begin(), copied.end()));
  }
}

// The vocabularies of llama.cpp, where they are there: copied key by key, a file without tensors is the same file.
TEST(RealFiles, VocabulariesAreCopiedByteForByte) {
  const TempFolder folder;
  for (const auto& path : fixture_files(".gguf")) {
    SCOPED_TRACE(path);
    const Checkpoint original = Checkpoint::open(path);
    const Metadata& metadata = original.metadata();
    EXPECT_GT(metadata.array("tokenizer.ggml.tokens").texts("tokenizer.ggml.tokens").size(), 1000u);
    GgufWriter writer(folder.path() / "copy.gguf", metadata, specs_of(original));
    for (const TensorEntry& entry : original.entries()) writer.write(entry.name, original.get(entry));
    writer.finish();
    const Checkpoint copy = Checkpoint::open(folder.path() / "copy.gguf");
    expect_same(original, copy);
    if (!original.entries().empty()) continue;
    const auto bytes = original.files()[0]->bytes();
    const auto copied = copy.files()[0]->bytes();
    ASSERT_GE(copied.size(), bytes.size());
    EXPECT_TRUE(std::equal(bytes.begin() + 8, bytes.end(), copied.begin() + 8));  // magic and version aside
  }
}

}  // namespace
}  // namespace wick
