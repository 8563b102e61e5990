// wick embed, as a user runs it.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "base/text.h"
#include "cli/process.h"
#include "embed/embedder.h"
#include "formats/checkpoint.h"
#include "support/places.h"
#include "support/sentence_folder.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

class EmbedCommand : public testing::Test {
 protected:
  ProcessResult embed(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"embed", folder_.path().string()});
    return run_process(WICK_PROGRAM, arguments, {});
  }
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  Tensor expected(const std::vector<std::string>& texts, const EmbedOptions& options = {}) const {
    return Embedder::load(folder_.path())->embed(texts, options);
  }
  static std::string bytes_of(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TinySentences folder_;
  const std::vector<std::string> texts_ = {"w9 w10", "w30 w31 w32", "w9 w10"};
};

TEST_F(EmbedCommand, AFewTextsAreCompared) {
  const auto result = embed(texts_);
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const Tensor vectors = expected(texts_);
  const std::vector<float> all = vectors.to_vector<float>();
  const double alike = cosine(std::span(all).first(64), std::span(all).subspan(64, 64));
  char line[64];
  std::snprintf(line, sizeof(line), " 1   1.00  %5.2f   1.00  w9 w10\n", alike);
  EXPECT_NE(result.output.find(line), std::string::npos) << result.output;
}

// A vector that lies in the file of an interrupted run is not computed again, one that is damaged is.
TEST_F(EmbedCommand, GoesOnWhereItWasInterrupted) {
  const std::vector<float> vectors = expected(texts_).to_vector<float>();
  const TempFolder out;
  const std::string to = (out.path() / "v.npy").string(), part = to + ".part";
  const auto run = [&](const std::vector<std::string>& texts) {
    std::vector<std::string> arguments = texts;
    arguments.insert(arguments.end(), {"-o", to});
    const auto result = embed(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    const std::string npy = bytes_of(to);
    std::vector<float> read(texts.size() * 64);
    std::memcpy(read.data(), npy.data() + npy.size() - read.size() * 4, read.size() * 4);
    return std::pair(read, result.errors);
  };
  EXPECT_EQ(run(texts_).first, vectors);
  EXPECT_FALSE(std::filesystem::exists(part));

  // The key is what a run that cannot finish leaves: its output is a folder.
  std::filesystem::remove(to);
  std::filesystem::create_directories(std::filesystem::path(to) / "in the way");
  std::vector<std::string> arguments = texts_;
  arguments.insert(arguments.end(), {"-o", to});
  EXPECT_NE(embed(arguments).exit_code, 0);
  std::filesystem::remove_all(to);
  const std::string left = bytes_of(part);
  const size_t head = left.find('\n') + 1, step = 4 + 64 * 4;
  ASSERT_EQ(left.size(), head + 3 * step);

  // The first is changed, with its checksum; the second is damaged.
  std::vector<float> other(64, 0.125f);
  std::string bytes(reinterpret_cast<const char*>(other.data()), 256);
  const uint32_t sum = crc32c(bytes);
  std::string made = left;
  made.replace(head, step, std::string(reinterpret_cast<const char*>(&sum), 4) + bytes);
  made[head + step + 100] ^= 1;
  const auto leave = [&](const std::string& all) { std::ofstream(part, std::ios::binary) << all; };
  leave(made);
  auto [read, errors] = run(texts_);
  EXPECT_NE(errors.find("1 of 3 vectors are there"), std::string::npos) << errors;
  EXPECT_EQ(std::vector<float>(read.begin(), read.begin() + 64), other);
  EXPECT_EQ(std::vector<float>(read.begin() + 64, read.end()), std::vector<float>(vectors.begin() + 64, vectors.end()));
  EXPECT_FALSE(std::filesystem::exists(part));

  // Of other texts it says nothing.
  leave(made);
  EXPECT_EQ(run({"w30 w31 w32"}).first, std::vector<float>(vectors.begin() + 64, vectors.begin() + 128));
  leave(made.substr(0, head / 2));
  EXPECT_EQ(run(texts_).first, vectors);
}

TEST_F(EmbedCommand, FilesHoldTheLibrarysVectors) {
  folder_.write("lines.txt", "w9 w10\n\nw30 w31 w32\r\nw9 w10");
  folder_.write("lines.jsonl",
                "{\"text\": \"w9 w10\"}\n{\"id\": 1, \"text\": \"w30 w31 w32\"}\n{\"text\": \"w9 w10\"}\n");
  const std::vector<float> vectors = expected(texts_).to_vector<float>();
  for (const char* from : {"lines.txt", "lines.jsonl"}) {
    for (const char* to : {"v.npy", "v.safetensors", "v.jsonl"}) {
      const auto result = embed({"-f", path(from), "-o", path(to)});
      ASSERT_EQ(result.exit_code, 0) << result.errors;
      EXPECT_EQ(result.output, "");
    }
    const std::string npy = bytes_of(path("v.npy"));
    EXPECT_EQ(npy.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_NE(npy.find("'descr': '<f4', 'fortran_order': False, 'shape': (3,64,)"), std::string::npos);
    EXPECT_EQ((npy.size() - 3 * 64 * 4) % 64, 0u);
    std::vector<float> read(3 * 64);
    std::memcpy(read.data(), npy.data() + npy.size() - read.size() * 4, read.size() * 4);
    EXPECT_EQ(read, vectors);
    EXPECT_EQ(Checkpoint::open(path("v.safetensors")).get("embeddings").to_vector<float>(), vectors);
    std::istringstream lines(bytes_of(path("v.jsonl")));
    std::vector<float> listed;
    for (std::string line; std::getline(lines, line);) {
      for (const float value : nlohmann::json::parse(line).at("embedding").get<std::vector<float>>()) {
        listed.push_back(value);
      }
    }
    EXPECT_EQ(listed, vectors);
  }
}

TEST_F(EmbedCommand, JsonPromptsAndDimensions) {
  folder_.write("config_sentence_transformers.json", R"({"prompts": {"query": "w7 : "}})");
  const auto first = [&](const std::vector<std::string>& arguments) {
    const auto result = embed(arguments);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    return nlohmann::json::parse(result.output);
  };
  const auto prompted = first({"w9", "--json", "--prompt", "query"});
  EXPECT_EQ(prompted.at("text"), "w9");
  EXPECT_EQ(prompted.at("tokens"), 5);
  EXPECT_EQ(prompted.at("embedding").get<std::vector<float>>(), expected({"w9"}, {"w7 : "}).to_vector<float>());
  EXPECT_EQ(first({"w9", "--json", "--prefix", "w7 : "}).at("embedding"), prompted.at("embedding"));
  EXPECT_EQ(first({"w9", "--json", "--dimensions", "5"}).at("embedding").size(), 5u);
}

TEST_F(EmbedCommand, MistakesAreTold) {
  folder_.write("sentence_bert_config.json", R"({"max_seq_length": 4})");
  folder_.write("bad.jsonl", "{\"text\": \"w9\"}\n{\"words\": \"w9\"}\n");
  folder_.write("empty.txt", "\n \n");
  std::string many;
  for (int i = 0; i < 13; ++i) many += "w9\n";
  folder_.write("many.txt", many);
  const auto problem = [&](const std::vector<std::string>& arguments, int status = 1) {
    const auto result = embed(arguments);
    EXPECT_EQ(result.exit_code, status) << result.output << result.errors;
    return result.errors;
  };
  const auto expect = [&](const std::vector<std::string>& arguments, const char* words, int status = 1) {
    const std::string told = problem(arguments, status);
    EXPECT_NE(told.find(words), std::string::npos) << told;
  };
  expect({"w9", "w9 w10 w11"}, "text 2: the text has at least 5 tokens, the model takes 4; --truncate cuts it");
  expect({""}, "there is nothing in the text");
  expect({"-f", path("bad.jsonl")}, "bad.jsonl, line 2");
  expect({"-f", path("empty.txt")}, "empty.txt: there is no text in it");
  expect({"-f", path("many.txt")}, "13 vectors to write: name a file with --output, or use --json");
  expect({"w9", "--prompt", "query"}, "no prompt 'query'; known are: none");
  expect({"w9", "--dimensions", "65"}, "65 dimensions are asked for, there are 1 to 64");
  expect({"w9", "-o", "v.csv"}, "ends in none of .npy, .safetensors and .jsonl", 2);
  expect({}, "give texts, or a file with --file", 2);
  const auto cut = embed({"w9 w10 w11", "--truncate", "--json"});
  EXPECT_EQ(cut.exit_code, 0);
  EXPECT_EQ(cut.errors, "wick: 1 text was cut to 4 tokens\n");
}

}  // namespace
}  // namespace wick
