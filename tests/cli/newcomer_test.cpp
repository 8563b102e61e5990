// What people type who do not know the command yet, and what it makes of it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/models/file_kind.h"
#include "cli/models/named_model.h"
#include "cli/process.h"
#include "support/fixtures.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

ProcessResult wick(const std::vector<std::string>& words, const std::vector<std::string>& environment = {}) {
  return run_process(WICK_PROGRAM, words, environment);
}

class Newcomer : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    return (folder_.path() / name).string();
  }
  TempFolder folder_;
};

TEST_F(Newcomer, OtherFilesAreNamedWithTheCommandThatTakesThem) {
  const std::string sound = (fixture_folders("audio").at(0) / "tone.ogg").string();
  struct Row {
    std::string path, part;
  };
  for (const Row& row : {Row{write("notes.md", "# Notes\n"), "is a text, and no model; `wick run --file "},
                         Row{sound, "is a sound or video file (Ogg); `wick transcribe "},
                         Row{write("a b.wav", "RIFF1234WAVEfmt "), "(WAV); `wick transcribe '"},
                         Row{write("x.png", "\x89PNG\r\n\x1a\n"), "is a PNG image, and no model"},
                         Row{write("chat.json", " [{\"role\": 1}]"), "is JSON, and no model; `wick run` takes a"},
                         Row{write("t.jinja", "{{ x }}"), "is a chat template; `wick template "},
                         Row{write("tokenizer.json", "{}"), "is a tokenizer; `wick tokenize "},
                         Row{write("config.json", "{}"), "give the folder that it is in"}}) {
    const std::string kind = other_kind_of_file(row.path);
    EXPECT_NE(kind.find(row.part), std::string::npos) << kind;
    const auto result = wick({"run", row.path});
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_EQ(result.errors, cat("wick: ", row.path, ": ", kind, "\n"));
  }
  for (const std::vector<std::string>& words : {std::vector<std::string>{"chat", sound},
                                                {"inspect", sound},
                                                {"bench", sound},
                                                {"serve", sound, "--port", "0"},
                                                {"quantize", sound, "x.gguf", "--type", "q8_0"}}) {
    const auto result = wick(words);
    EXPECT_EQ(result.exit_code, 1) << words.front();
    EXPECT_NE(result.errors.find("is a sound or video file (Ogg)"), std::string::npos) << words.front();
  }
  // Those who open models judge the rest.
  EXPECT_EQ(other_kind_of_file(write("empty", "")), "");
  EXPECT_EQ(other_kind_of_file(write("m.gguf", "GGUF\x03")), "");
  EXPECT_EQ(other_kind_of_file(write("m.index.json", "{}")), "");
  EXPECT_EQ(other_kind_of_file(folder_.path()), "");
}

TEST_F(Newcomer, WordsThatNameNoModelAreAPrompt) {
  for (const char* words : {"Who are you?", "Hello!", "What is 1/2 of 4?", "Say: x"}) {
    EXPECT_TRUE(reads_like_a_prompt(words)) << words;
  }
  for (const char* words : {"qwen3", "Org/Name", "Org/Name:Q4_K_M", "./my model", "/tmp/a b", "~/m", "my model.gguf",
                            "", "a/b/c/d?", "m.safetensors"}) {
    EXPECT_FALSE(reads_like_a_prompt(words)) << words;
  }
  WICK_NEEDS_EMBER();
  const std::string ember = wick({"run", "ember", "Who are you?", "-t", "0"}).output;
  EXPECT_EQ(wick({"run", "Who are you?", "-t", "0"}).output, ember);
  EXPECT_NE(wick({"run", "embr"}).errors.find("'embr' is taken as MODEL"), std::string::npos);
  EXPECT_NE(wick({"run", "Who are you?", "-p", "x"}).errors.find("there is no such file or folder"), std::string::npos);
  // A model that is called so comes first.
  fs::copy(WICK_SOURCE_DIR "/models/ember", folder_.path() / "my model");
  const auto here = run_process("/bin/sh", {"-c", cat("cd ", folder_.path().string(), "; exec ", WICK_PROGRAM,
                                                      " run 'my model' -p 'Who are you?' -t 0")});
  EXPECT_EQ(here.output, ember) << here.errors;
}

TEST_F(Newcomer, EmberIsAModelEverywhere) {
  WICK_NEEDS_EMBER();
  const auto facts = nlohmann::json::parse(wick({"inspect", "ember", "--json"}).output);
  EXPECT_EQ(facts.at("path"), "ember");
  EXPECT_EQ(wick({"tokenize", "ember", "Hello there"}).output,
            wick({"tokenize", WICK_SOURCE_DIR "/models/ember", "Hello there"}).output);
  EXPECT_EQ(wick({"template", "ember", "--messages", R"([{"role": "user", "content": "Hi"}])"}).output,
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(wick({"bench", "ember", "-p", "8", "-n", "2", "-r", "1", "--no-warmup"}).exit_code, 0);
  const std::string out = (folder_.path() / "e.gguf").string();
  const auto made = wick({"quantize", "ember", out, "--type", "q8_0", "--json"});
  ASSERT_EQ(made.exit_code, 0) << made.errors;
  const auto report = nlohmann::json::parse(made.output);
  EXPECT_EQ(report.at("path"), out);
  EXPECT_EQ(report.at("tensors"), 90);
  EXPECT_NEAR(report.at("bits_per_weight"), 8.5, 0.1);
  EXPECT_LT(report.at("bytes"), report.at("bytes_before"));
  // What the model was given as a file goes with the process.
  const auto left = wick({"verify", "ember"}, {cat("TMPDIR=", folder_.path().string())});
  EXPECT_NE(left.errors.find("reference.safetensors"), std::string::npos) << left.errors;
  for (const auto& entry : fs::directory_iterator(folder_.path())) EXPECT_EQ(entry.path(), out);
}

TEST_F(Newcomer, OptionsThatWereMeant) {
  struct Row {
    std::vector<std::string> words;
    std::string error;
  };
  for (const Row& row :
       {Row{{"run", "--temprature", "0", "-p", "x"},
            "wick run: there is no option '--temprature'; did you mean '--temperature'?"},
        Row{{"transcribe", "x.wav", "--fromat=srt"},
            "wick transcribe: there is no option '--fromat'; did you mean '--format'?"},
        Row{{"quantize", "a", "b", "--typ", "q8_0"}, "there is no option '--typ'; did you mean '--type'?"},
        Row{{"bench", "ops", "--quik"}, "there is no option '--quik'; did you mean '--quick'?"},
        Row{{"run", "--xyz"}, "wick run: there is no option '--xyz'\n"},
        Row{{"--versoin"}, "wick: there is no option '--versoin'; did you mean '--version'?"}}) {
    const auto result = wick(row.words);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.errors.find(row.error), std::string::npos) << result.errors;
  }
}

TEST_F(Newcomer, JsonMayStandOnTheCommandLine) {
  WICK_NEEDS_EMBER();
  EXPECT_EQ(wick({"run", "-p", "hi", "--json-schema", R"({"const": true})"}).output, "true\n");
  EXPECT_EQ(wick({"run", "-t", "0", "--messages", R"([{"role": "user", "content": "What is 348 plus 275?"}])"}).output,
            "348 + 275 = 623\n");
  const auto bad = wick({"run", "-p", "hi", "--json-schema", R"({"type": )"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(bad.errors.starts_with("wick: --json-schema: not valid JSON")) << bad.errors;
  EXPECT_NE(wick({"run", "-p", "hi", "--json-schema", "none.json"}).errors.find("none.json"), std::string::npos);
}

TEST_F(Newcomer, TranscribeMakesItsFolderAndJson) {
  WICK_NEEDS_EMBER();
  const std::string silence =
      write("quiet.wav", std::string("RIFF\x24\x7d\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x80\x3e\0\0\0\x7d\0\0\2\0\x10\0"
                                     "data\0\x7d\0\0",
                                     44) +
                             std::string(32000, '\0'));
  const fs::path out = folder_.path() / "a" / "b";
  const auto result = wick({"transcribe", silence, "--json", "--output", out.string()});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  std::ifstream file(out / "quiet.wav.json");
  EXPECT_EQ(nlohmann::json::parse(file).at("duration"), 1);
  EXPECT_EQ(wick({"transcribe", silence, "--json", "--format", "srt"}).exit_code, 2);
  EXPECT_EQ(wick({"transcribe", silence, "--output", write("file", "")}).exit_code, 1);
}

}  // namespace
}  // namespace wick
