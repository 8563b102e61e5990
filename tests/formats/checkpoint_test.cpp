#include "formats/checkpoint.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/damaged_files.h"
#include "support/errors.h"
#include "support/file_bytes.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

// One u8 tensor per name, of one element.
std::string bytes_tensors(const std::vector<std::string>& names) {
  std::string header = "{";
  for (size_t i = 0; i < names.size(); ++i) {
    header += cat(i ? "," : "", "\"", names[i], R"(":{"dtype":"U8","shape":[1],"data_offsets":[)", i, ",", i + 1, "]}");
  }
  return safetensors_bytes(header + "}", names.size());
}

class CheckpointTest : public testing::Test {
 protected:
  const fs::path& folder() const { return temp_.path(); }
  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder() / name, std::ios::binary) << bytes;
    return folder() / name;
  }
  void write_gguf_part(const std::string& name, int number, int count, const std::string& tensor, int total) const {
    GgufBytes file(1, 3);
    file.key("split.no", 2).add(static_cast<uint16_t>(number)).key("split.count", 2).add(static_cast<uint16_t>(count));
    file.key("split.tensors.count", 5).add(int32_t{total});
    write(name, file.tensor(tensor, {1}, 24, 0).pad().data(1).bytes());
  }

 private:
  TempFolder temp_;
};

TEST_F(CheckpointTest, FindsTheFileInAFolder) {
  EXPECT_ERROR(Checkpoint::open(folder()), kBadFile, cat(folder(), ": holds no .safetensors or .gguf file"));
  EXPECT_ERROR(Checkpoint::open(folder() / "missing"), kIo, "missing: cannot open: No such file");
  write("only.gguf", good_gguf());
  write("mmproj-only.gguf", good_gguf());
  EXPECT_EQ(Checkpoint::open(folder()).kind(), Checkpoint::Kind::kGguf);
  write("weights.safetensors", bytes_tensors({"a"}));
  EXPECT_EQ(Checkpoint::open(folder()).kind(), Checkpoint::Kind::kSafetensors);
  write("weights2.safetensors", bytes_tensors({"a"}));
  EXPECT_ERROR(Checkpoint::open(folder()), kBadFile,
               "holds several model files: 'weights.safetensors', 'weights2.safetensors'; name the one to open");
  write("model.safetensors", bytes_tensors({"m"}));
  write("config.json", R"({"model_type": "tiny"})");
  const Checkpoint checkpoint = Checkpoint::open(folder());
  EXPECT_NE(checkpoint.find("m"), nullptr);
  EXPECT_EQ(checkpoint.folder(), folder());
  EXPECT_EQ(checkpoint.config().at("model_type").as_text(), "tiny");
  write("config.json", "{");
  EXPECT_ERROR(Checkpoint::open(folder()), kBadFile, "config.json: not valid JSON");
}

TEST_F(CheckpointTest, TheContentDecidesNotTheName) {
  EXPECT_EQ(Checkpoint::open(write("a.safetensors", good_gguf())).kind(), Checkpoint::Kind::kGguf);
  EXPECT_EQ(Checkpoint::open(write("a.gguf", good_safetensors())).kind(), Checkpoint::Kind::kSafetensors);
  const auto refused = [&](const std::string& start, const char* sentence) {
    EXPECT_ERROR(Checkpoint::open(write("x.bin", start + std::string(64, ' '))), kBadFile, sentence);
  };
  refused("PK\x03\x04", "x.bin: is a zip archive without its end");
  refused("\x80\x02}q", "x.bin: is a bare Python pickle");
  refused("tjgg", "x.bin: is a ggml file from before GGUF");
  refused("version https://git-lfs.github.com/spec/v1", "x.bin: is a Git LFS pointer, not the file itself");
  refused("<!DOCTYPE html>", "x.bin: is a web page");
  refused("hello", "x.bin: the header claims");
}

TEST_F(CheckpointTest, OpensShardsThroughTheIndex) {
  write("x-1.safetensors", bytes_tensors({"a", "c"}));
  write("x-2.safetensors", bytes_tensors({"b"}));
  const auto index =
      write("model.safetensors.index.json",
            R"({"weight_map": {"a": "x-1.safetensors", "b": "x-2.safetensors", "c": "x-1.safetensors"}})");
  for (const auto& path : {folder(), index}) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    EXPECT_EQ(checkpoint.entries().size(), 3u);
    EXPECT_EQ(checkpoint.files().size(), 2u);
    EXPECT_EQ(checkpoint.find("b")->file, 1);
    EXPECT_EQ(checkpoint.get("b").numel(), 1);
  }
}

TEST_F(CheckpointTest, IndexAndShardsMustAgree) {
  write("x-1.safetensors", bytes_tensors({"a", "c"}));
  write("x-2.safetensors", bytes_tensors({"b"}));
  write("x-3.safetensors", bytes_tensors({"b", "d"}));
  const auto open = [&](const std::string& map) {
    return Checkpoint::open(write("model.safetensors.index.json", cat("{\"weight_map\": {", map, "}}")));
  };
  EXPECT_ERROR(open(R"("a": "x-1.safetensors", "b": "x-8.safetensors", "c": "x-9.safetensors")"), kBadFile,
               "index.json: 2 of 3 shards are missing: 'x-8.safetensors', 'x-9.safetensors'");
  EXPECT_ERROR(open(R"("a": "x-1.safetensors")"), kBadFile, "tensor 'c' of 'x-1.safetensors' is not in the index");
  EXPECT_ERROR(open(R"("a": "x-1.safetensors", "c": "x-1.safetensors", "z": "x-1.safetensors")"), kBadFile,
               "tensor 'z' is not in 'x-1.safetensors'");
  EXPECT_ERROR(open(R"("a": "x-1.safetensors", "b": "x-1.safetensors", "c": "x-2.safetensors")"), kBadFile,
               "tensor 'b' is in 'x-2.safetensors', not in 'x-1.safetensors'");
  EXPECT_ERROR(open(R"("b": "x-2.safetensors", "d": "x-3.safetensors")"), kBadFile,
               "tensor 'b' is both in 'x-2.safetensors' and in 'x-3.safetensors'");
  EXPECT_ERROR(open(R"("a": "../x-1.safetensors")"), kBadFile, "the shard name '../x-1.safetensors' is not a plain");
  write("x-1.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n");
  EXPECT_ERROR(open(R"("a": "x-1.safetensors")"), kBadFile,
               "x-1.safetensors: is a Git LFS pointer, not the file itself");
  write("x-1.safetensors", good_gguf());
  EXPECT_ERROR(open(R"("a": "x-1.safetensors")"), kBadFile, "x-1.safetensors: is not a safetensors file");
  EXPECT_ERROR(Checkpoint::parse(file_in_memory(good_index(), "index")), kBadFile, "is an index of safetensors files");
}

TEST_F(CheckpointTest, OpensSplitGguf) {
  write_gguf_part("m-00001-of-00003.gguf", 0, 3, "a", 3);
  write_gguf_part("m-00002-of-00003.gguf", 1, 3, "b", 3);
  write_gguf_part("m-00003-of-00003.gguf", 2, 3, "c", 3);
  for (const auto& path : {folder(), folder() / "m-00001-of-00003.gguf"}) {
    const Checkpoint checkpoint = Checkpoint::open(path);
    EXPECT_EQ(checkpoint.entries().size(), 3u);
    EXPECT_EQ(checkpoint.find("c")->file, 2);
    EXPECT_EQ(checkpoint.get("c").item(), 1);
  }
  EXPECT_ERROR(Checkpoint::open(folder() / "m-00002-of-00003.gguf"), kBadFile,
               "m-00002-of-00003.gguf: is part 2 of 3 of a split model; open 'm-00001-of-00003.gguf'");
  write_gguf_part("m-00003-of-00003.gguf", 1, 3, "c", 3);
  EXPECT_ERROR(Checkpoint::open(folder()), kBadFile, "says it is part 2 of 3, expected part 3 of 3");
  write_gguf_part("m-00003-of-00003.gguf", 2, 3, "a", 3);
  EXPECT_ERROR(Checkpoint::open(folder()), kBadFile, "m-00003-of-00003.gguf: tensor 'a' is also in ");
  write("m-00003-of-00003.gguf", good_safetensors());
  EXPECT_ERROR(Checkpoint::open(folder()), kBadFile, "m-00003-of-00003.gguf: is not a GGUF file");
  fs::remove(folder() / "m-00003-of-00003.gguf");
  EXPECT_ERROR(Checkpoint::open(folder()), kIo, "m-00003-of-00003.gguf: cannot open: No such file");
  write_gguf_part("m-00001-of-00003.gguf", 0, 3, "a", 4);
  write_gguf_part("m-00003-of-00003.gguf", 2, 3, "c", 4);
  EXPECT_ERROR(Checkpoint::open(folder()), kBadFile, "'split.tensors.count' is 4 but the 3 parts hold 3");
  fs::rename(folder() / "m-00001-of-00003.gguf", folder() / "m.gguf");
  EXPECT_ERROR(Checkpoint::open(folder() / "m.gguf"), kBadFile, "does not end in '-00001-of-00003.gguf'");
}

}  // namespace
}  // namespace wick
