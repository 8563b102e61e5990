// vocab.json with merges.txt are the tokenizer.json that they were before.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "support/errors.h"
#include "support/fixtures.h"
#include "support/temp_folder.h"
#include "tokenizer/tokenizer.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

nlohmann::json unpacked(const fs::path& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(("xz -dc '" + path.string() + "'").c_str(), "r"), &pclose);
  std::string text;
  std::vector<char> buffer(1 << 16);
  for (size_t got; (got = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) text.append(buffer.data(), got);
  return nlohmann::json::parse(text);
}

void write_old_files(const nlohmann::json& tokenizer, const std::string& kind, const fs::path& folder) {
  std::ofstream(folder / "vocab.json") << tokenizer["model"]["vocab"];
  std::ofstream merges(folder / "merges.txt");
  merges << "#version: 0.2\n";
  for (const auto& merge : tokenizer["model"]["merges"]) {
    if (merge.is_array()) {
      merges << merge[0].get<std::string>() << ' ' << merge[1].get<std::string>() << '\n';
    } else {
      merges << merge.get<std::string>() << '\n';
    }
  }
  nlohmann::json added = nlohmann::json::object();
  for (nlohmann::json token : tokenizer["added_tokens"]) {
    const std::string id = std::to_string(token["id"].get<int>());
    token.erase("id");
    added[id] = token;
  }
  std::ofstream(folder / "tokenizer_config.json")
      << nlohmann::json{{"tokenizer_class", kind}, {"added_tokens_decoder", added}};
}

class VocabAndMerges : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(VocabAndMerges, AreTheTokenizer) {
  const auto [name, kind] = GetParam();
  fs::path packed, cases;
  for (const fs::path& folder : fixture_folders("tokenizers")) {
    if (exists(folder / (std::string(name) + ".tokenizer.json.xz")))
      packed = folder / (std::string(name) + ".tokenizer.json.xz");
  }
  if (packed.empty()) GTEST_SKIP() << "WICK_EXTRA_FIXTURES names no folder with tokenizers/" << name;
  cases = packed.parent_path() / (std::string(name) + ".cases.json");
  const TempFolder folder;
  write_old_files(unpacked(packed), kind, folder.path());
  const Tokenizer tokenizer = Tokenizer::load(folder.path());
  std::ifstream in(cases);
  int64_t count = 0;
  const nlohmann::json all = nlohmann::json::parse(in);
  for (const auto& item : all["cases"]) {
    EncodeOptions plain;
    plain.add_special = false;
    const auto text = item["text"].get<std::string>();
    EXPECT_EQ(tokenizer.encode(text, plain), item["ids"].get<std::vector<int>>()) << text;
    ++count;
  }
  EXPECT_GT(count, 20);
}
INSTANTIATE_TEST_SUITE_P(Kinds, VocabAndMerges,
                         testing::Values(std::pair{"qwen3", "Qwen2Tokenizer"}, std::pair{"gpt2", "GPT2TokenizerFast"}),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(VocabAndMerges, OthersAreRefused) {
  const TempFolder folder;
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder.path() / name) << text; };
  write("vocab.json", R"({"a": 0, "b": 1, "ab": 2})");
  write("merges.txt", "#version: 0.2\na b\n");
  EXPECT_ERROR(Tokenizer::load(folder.path()), kIo, "tokenizer_config.json");
  write("tokenizer_config.json", R"({"tokenizer_class": "RobertaTokenizer"})");
  EXPECT_ERROR(Tokenizer::load(folder.path()), kUnsupported, "not for 'RobertaTokenizer'");
  write("tokenizer_config.json", R"({"tokenizer_class": "Qwen2Tokenizer"})");
  EXPECT_EQ(Tokenizer::load(folder.path()).encode("abb"), (std::vector<int>{2, 1}));
  write("merges.txt", "ab\n");
  EXPECT_ERROR(Tokenizer::load(folder.path()), kBadFile, "a line is no merge of two pieces: 'ab'");
  write("merges.txt", "a c\n");
  EXPECT_ERROR(Tokenizer::load(folder.path()), kBadFile, "c");
  write("merges.txt", "a b\n");
  write("tokenizer_config.json",
        R"({"tokenizer_class": "Qwen2Tokenizer", "added_tokens_decoder": {"x": {"content": "y"}}})");
  EXPECT_ERROR(Tokenizer::load(folder.path()), kBadFile, "with the number 'x'");
}

}  // namespace
}  // namespace wick
