#include "cli/models/presets.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/process.h"
#include "support/errors.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

namespace fs = std::filesystem;

ConfigEntry only(const std::string& text) {
  const auto tables = parse_config(text, "c");
  EXPECT_EQ(tables.size(), 1u);
  return tables.at(0).entries.at(0);
}

TEST(ConfigFile, ReadsValues) {
  EXPECT_EQ(only("a = \"x # y\" # z").values, std::vector<std::string>{"x # y"});
  EXPECT_EQ(only(R"(a = "tab\t quote\" \u00e9 \U0001F600 \\")").values[0], "tab\t quote\" \u00e9 \U0001F600 \\");
  EXPECT_EQ(only("a = 'C:\\n'").values[0], "C:\\n");
  EXPECT_EQ(only("a = \"\"\"\none\n\"two\"\n\"\"\"").values[0], "one\n\"two\"\n");
  EXPECT_EQ(only("a=-0.5e-3").values[0], "-0.5e-3");
  EXPECT_EQ(only("  a-b_1 = true\r\n").key, "a-b_1");
  const ConfigEntry list = only("\n\nstop = [ \"a\", # first\n  'b',\n]");
  EXPECT_TRUE(list.is_list);
  EXPECT_EQ(list.line, 3);
  EXPECT_EQ(list.values, (std::vector<std::string>{"a", "b"}));
  const auto tables = parse_config("[presets.\"my own\"]\nx = 1\n[ a . b ]\n", "c");
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[1].name, (std::vector<std::string>{"presets", "my own"}));
  EXPECT_EQ(tables[2].name, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(tables[2].line, 3);
}

TEST(ConfigFile, RefusesWithTheLine) {
  struct Row {
    const char* text;
    const char* error;
  };
  for (const Row& row :
       {Row{"\na", "c:2: behind 'a', = is expected"}, Row{"a = ", "c:1: a value is expected"},
        Row{"a = yes", "c:1: 'yes' is no value"}, Row{"a = 1979-05-27", "c:1: '1979-05-27' is no value"},
        Row{"a = \"x", "c:1: the text has no end"}, Row{"a = \"x\ny\"", "c:1: the text has no end"},
        Row{"a = \"\\q\"", "c:1: \\q is no escape"}, Row{"a = \"\\ud800\"", "is no escape"},
        Row{"a = 1 2", "c:1: the line goes on behind its value"},
        Row{"a = [1 2]", "c:1: in a list, a comma or ] is expected"}, Row{"a = {b = 1}", "c:1: a value is expected"},
        Row{"a.b = 1", "c:1: keys with dots are not taken"},
        Row{"[a\nb = 1", "c:1: the table's name does not end with ]"},
        Row{"[[a]]", "c:1: lists of tables are not taken"}, Row{"a = 1\n\na = 2", "c:3: the key 'a' comes twice"},
        Row{"[a]\n[a]", "c:2: the table [a] comes twice"}, Row{"= 1", "c:1: a name is expected"},
        Row{"a = \"\xff\"", "is not UTF-8"}}) {
    EXPECT_ERROR(parse_config(row.text, "c"), kBadFile, row.error);
  }
}

TEST(Presets, KnowWhatAPresetMayHave) {
  const auto presets =
      parse_presets("# mine\n[presets.brief]\nsystem = \"Be brief.\"\ntemperature = 0\nstop = [\"a\"]\n", "c");
  ASSERT_EQ(presets.size(), 1u);
  EXPECT_EQ(presets[0].model, "ember");
  EXPECT_EQ(presets[0].options.size(), 3u);
  EXPECT_ERROR(parse_presets("[presets.a]\ntemprature = 1", "c"), kBadFile,
               "c:2: a preset has no 'temprature'; did you mean temperature?");
  EXPECT_ERROR(parse_presets("model = \"x\"", "c"), kBadFile, "c:1: 'model' is not known");
  EXPECT_ERROR(parse_presets("[preset.a]", "c"), kBadFile, "c:1: the table 'preset' is not known");
  EXPECT_ERROR(parse_presets("[presets.a]\nsystem = [\"x\"]", "c"), kBadFile, "c:2: system is one value");
}

class PresetProgram : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  ProcessResult wick(const std::string& config, const std::vector<std::string>& words) {
    fs::create_directories(folder_.path() / "wick");
    std::ofstream(folder_.path() / "wick" / "config.toml") << config;
    return run_process(WICK_PROGRAM, words, {cat("XDG_CONFIG_HOME=", folder_.path().string())});
  }
  TempFolder folder_;
};

TEST_F(PresetProgram, StandsForAModelWithSettings) {
  const std::string config =
      "[presets.short]\nmodel = \"ember\"\ntemperature = 0\nmax-tokens = 3\nsystem = \"You are kind.\"\n"
      "json-mode = false\n";
  EXPECT_EQ(wick(config, {"run", "short", "Who are you?"}).output, "I am Ember\n");
  // The command line goes over it.
  EXPECT_EQ(wick(config, {"run", "short", "Who are you?", "-n", "2"}).output, "I am\n");
  EXPECT_EQ(wick(config, {"tokenize", "short", "Hello"}).output, wick("", {"tokenize", "ember", "Hello"}).output);
  const auto list = nlohmann::json::parse(wick(config, {"list", "--json", folder_.path().string()}).output);
  EXPECT_EQ(list.at("models").back().at("name"), "short");
  // Broken ones are told where a preset could be meant, and only there.
  const auto bad = wick("[presets.short]\ntop-p = 7\n", {"run", "short", "-p", "x"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_NE(bad.errors.find("config.toml:2: top-p: "), std::string::npos) << bad.errors;
  EXPECT_EQ(wick("nonsense", {"run", "-p", "Who are you?", "-t", "0", "-n", "2"}).output, "I am\n");
  const auto unknown = wick("[presets.short]\nmodell = \"x\"\n", {"run", "short", "-p", "x"});
  EXPECT_NE(unknown.errors.find("config.toml:2: a preset has no 'modell'; did you mean model?"), std::string::npos)
      << unknown.errors;
}

TEST_F(PresetProgram, AServerTakesWhatItCan) {
  const auto refused = wick("[presets.shaped]\ngrammar = \"x\"\n", {"serve", "shaped", "--port", "0"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_NE(refused.errors.find("config.toml:2: wick serve takes no grammar of a preset"), std::string::npos)
      << refused.errors;
}

}  // namespace
}  // namespace wick
