// Lists of files, and what is chosen from them.
#include <gtest/gtest.h>

#include "base/text.h"
#include "hub/choose_files.h"
#include "support/errors.h"

namespace wick {
namespace {

RepoListing listing_of(const std::vector<std::string>& names) {
  RepoListing listing;
  for (const std::string& name : names) listing.files.push_back({name, 10, std::string(40, 'a')});
  return listing;
}

std::vector<std::string> chosen(const std::vector<std::string>& names, const std::string& model,
                                const std::vector<std::string>& include = {}) {
  std::vector<std::string> out;
  const FileChoice choice = choose_files(listing_of(names), *parse_model_name(model), include);
  for (const RepoFile& file : choice.files) out.push_back(file.name);
  for (const GgufModelFiles& model_files : choice.choices) out.push_back("?" + model_files.files.front());
  return out;
}

using Names = std::vector<std::string>;

TEST(ChooseFiles, TakesWhatWickNeeds) {
  EXPECT_EQ(chosen({".gitattributes",
                    "README.md",
                    "config.json",
                    "model-00001-of-00002.safetensors",
                    "model-00002-of-00002.safetensors",
                    "model.safetensors.index.json",
                    "consolidated.safetensors",
                    "pytorch_model.bin",
                    "tf_model.h5",
                    "flax_model.msgpack",
                    "onnx/model.onnx",
                    "onnx/config.json",
                    "original/params.json",
                    "tokenizer.json",
                    "tokenizer.model",
                    "merges.txt",
                    "chat_template.jinja",
                    "unet/model.safetensors",
                    "unet/model.fp16.safetensors",
                    "m-Q4_0.gguf"},
                   "a/b"),
            (Names{"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
                   "model.safetensors.index.json", "tokenizer.json", "tokenizer.model", "merges.txt",
                   "chat_template.jinja", "unet/model.safetensors"}));
  EXPECT_EQ(chosen({"consolidated.safetensors", "params.json"}, "a/b"),
            (Names{"consolidated.safetensors", "params.json"}));
  EXPECT_EQ(chosen({"tokenizer.json", "README.md"}, "a/b"), (Names{"tokenizer.json"}));
  EXPECT_EQ(chosen({"x/y.bin", "z.md", "w.json"}, "a/b", {"*.bin", "z*"}), (Names{"x/y.bin", "z.md"}));
  EXPECT_ERROR(chosen({"config.json", "pytorch_model.bin"}, "a/b"), kInvalidArgument,
               "a/b: holds no safetensors or GGUF file, only weights that Wick does not read ('pytorch_model.bin')");
  EXPECT_ERROR(chosen({"README.md"}, "a/b"), kInvalidArgument, "a/b: none of its 1 files is '*.safetensors'");
  EXPECT_ERROR(chosen({"config.json"}, "a/b", {"confg.json"}), kInvalidArgument, "there is 'config.json'");
}

TEST(ChooseFiles, AsksWhichGgufFileIsMeant) {
  const Names files = {"README.md",
                       "m-Q4_K_M.gguf",
                       "m-UD-Q4_K_M.gguf",
                       "m-Q8_0.gguf",
                       "mmproj-F16.gguf",
                       "config.json",
                       "big/m-F16-00001-of-00002.gguf",
                       "big/m-F16-00002-of-00002.gguf"};
  EXPECT_EQ(chosen(files, "a/b"),
            (Names{"?big/m-F16-00001-of-00002.gguf", "?m-Q4_K_M.gguf", "?m-Q8_0.gguf", "?m-UD-Q4_K_M.gguf"}));
  EXPECT_EQ(chosen(files, "a/b:q8_0"), (Names{"m-Q8_0.gguf"}));
  EXPECT_EQ(chosen(files, "a/b:F16"), (Names{"big/m-F16-00001-of-00002.gguf", "big/m-F16-00002-of-00002.gguf"}));
  EXPECT_EQ(chosen(files, "a/b:UD-Q4_K_M"), (Names{"m-UD-Q4_K_M.gguf"}));
  EXPECT_EQ(chosen(files, "a/b:Q4_K_M"), (Names{"?m-Q4_K_M.gguf", "?m-UD-Q4_K_M.gguf"}));
  EXPECT_EQ(chosen(files, "a/b:Q4_K").size(), 4U) << "not one of them";
  EXPECT_EQ(chosen(files, "a/b/m-Q4_K_M.gguf"), (Names{"m-Q4_K_M.gguf"}));
  EXPECT_EQ(chosen(files, "a/b/big/m-F16-00001-of-00002.gguf").size(), 2U);
  EXPECT_EQ(chosen(files, "a/b/README.md"), (Names{"README.md"}));
  EXPECT_EQ(chosen({"only.gguf", "README.md"}, "a/b"), (Names{"only.gguf"}));
  EXPECT_EQ(chosen({"ggml-base.bin", "ggml-tiny.bin"}, "a/b"), (Names{"?ggml-base.bin", "?ggml-tiny.bin"}));
  EXPECT_EQ(chosen({"ggml-base.bin", "ggml-tiny.bin"}, "a/b:tiny"), (Names{"ggml-tiny.bin"}));
  EXPECT_ERROR(chosen({"model.safetensors"}, "a/b:Q4_0"), kInvalidArgument, "a/b: holds no GGUF file");
  EXPECT_ERROR(chosen(files, "a/b/m-Q4_K_S.gguf"), kInvalidArgument, "is 'm-Q4_K_S.gguf'; there is 'm-Q4_K_M.gguf'");
}

TEST(Listing, ReadsWhatTheHubAnswers) {
  const std::string git(40, '1'), sha(64, '2'), commit(40, 'c');
  const RepoListing listing =
      parse_listing(cat(R"({"id":"a/b","sha":")", commit,
                        R"(","gated":false,"siblings":[{"rfilename":"x/config.json","size":7,"blobId":")", git,
                        R"("},{"rfilename":"m.safetensors","size":9000000000,"blobId":")", git,
                        R"(","lfs":{"sha256":")", sha, R"(","size":9000000000,"pointerSize":135}}]})"),
                    "list");
  EXPECT_EQ(listing.commit, commit);
  ASSERT_EQ(listing.files.size(), 2U);
  EXPECT_EQ(listing.files[0].name, "x/config.json");
  EXPECT_EQ(listing.files[0].checksum, git);
  EXPECT_EQ(listing.files[1].bytes, 9'000'000'000);
  EXPECT_EQ(listing.files[1].checksum, sha);
}

TEST(Listing, TrustsNothing) {
  const auto with = [](const std::string& files, const std::string& sha = std::string(40, 'c')) {
    return cat(R"({"sha":")", sha, R"(","siblings":[)", files, "]}");
  };
  const auto file = [](const std::string& name, const std::string& size = "1",
                       const std::string& id = std::string(40, '1')) {
    return cat(R"({"rfilename":")", name, R"(","size":)", size, R"(,"blobId":")", id, "\"}");
  };
  EXPECT_EQ(parse_listing(with(file("a")), "list").files.size(), 1U);
  for (const char* name : {"../../x", "/etc/x", "a\\u0000b", "a/../../b", "..", "", "a//b", "a\\n", "a\\\\b"}) {
    EXPECT_ERROR(parse_listing(with(file(name)), "list"), kBadFile, "is no name for a file");
  }
  EXPECT_ERROR(parse_listing(with(file("a", "-1")), "list"), kBadFile, "the size -1 cannot be");
  EXPECT_ERROR(parse_listing(with(file("a", "9223372036854775807")), "list"), kBadFile, "cannot be");
  EXPECT_ERROR(parse_listing(with(file("a", "\"1\"")), "list"), kBadFile, "size");
  for (const char* id : {"", "../../x", "111111111111111111111111111111111111111g"}) {
    EXPECT_ERROR(parse_listing(with(file("a", "1", id)), "list"), kBadFile, "is no checksum");
  }
  EXPECT_ERROR(parse_listing(with(R"({"rfilename":"a","size":1,"blobId":"x","lfs":{"sha256":"../x"}})"), "list"),
               kBadFile, "'../x' is no checksum");
  EXPECT_ERROR(parse_listing(with(cat(file("a"), ",", file("a"))), "list"), kBadFile, "lists 'a' twice");
  EXPECT_ERROR(parse_listing(with("", "../../x"), "list"), kBadFile, "'sha' is '../../x'");
  EXPECT_ERROR(parse_listing("<html>", "list"), kBadFile, "list");
}

TEST(Listing, AddressesAreEncoded) {
  EXPECT_EQ(listing_url("http://h", *parse_model_name("a/b@refs/pr/1")),
            "http://h/api/models/a/b/revision/refs%2Fpr%2F1?blobs=true");
  EXPECT_EQ(file_url("http://h", "a/b", "c0", "x y/z?#%é.json"), "http://h/a/b/resolve/c0/x%20y/z%3F%23%25%C3%A9.json");
}

}  // namespace
}  // namespace wick
