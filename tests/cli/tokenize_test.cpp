// Runs the real program.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "support/places.h"

namespace wick {
namespace {

const std::string kFixtures = WICK_SOURCE_DIR "/tests/fixtures/tokenizers/";

ProcessResult tokenize(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "tokenize");
  return run_process(WICK_PROGRAM, arguments, {});
}

TEST(Tokenize, ShowsPiecesIdsAndCounts) {
  const auto result = tokenize({kFixtures + "llama3-like.tokenizer.json", "the dog\n"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(result.output.substr(0, result.output.find('\n')), "<|begin_of_text|>|t|he| dog|\\n");
  EXPECT_NE(result.output.find("5 tokens, 8 bytes, 8 characters\n"), std::string::npos) << result.output;
  EXPECT_EQ(result.output.find('\033'), std::string::npos) << "escape codes in a pipe";
}

TEST(Tokenize, JsonAndDecodeGoRoundInCircles) {
  const std::string file = kFixtures + "llama3-like.tokenizer.json";
  const std::string text = "Größe 世界 <|eot_id|>";
  const auto encoded = tokenize({file, text, "--json", "--no-special"});
  ASSERT_EQ(encoded.exit_code, 0) << encoded.errors;
  const auto report = nlohmann::json::parse(encoded.output);
  EXPECT_EQ(report.at("count"), report.at("ids").size());
  EXPECT_EQ(report.at("tokens").back().at("special"), true);
  EXPECT_EQ(tokenize({file, "--decode", report.at("ids").dump()}).output, text + "\n");
  EXPECT_EQ(tokenize({file, "--decode", "--skip-special", report.at("ids").dump()}).output, "Größe 世界 \n");

  const auto as_text = nlohmann::json::parse(tokenize({file, text, "--json", "--as-text"}).output);
  for (const auto& token : as_text.at("tokens")) {
    if (token.at("begin") == token.at("end")) continue;
    EXPECT_EQ(token.at("special"), false);
  }
}

TEST(Tokenize, WrongInputIsOneSentence) {
  const std::string file = kFixtures + "llama3-like.tokenizer.json";
  const auto bad_id = tokenize({file, "--decode", "1 99999999"});
  EXPECT_EQ(bad_id.exit_code, 1);
  EXPECT_NE(bad_id.errors.find("there is no token 99999999"), std::string::npos) << bad_id.errors;
  EXPECT_EQ(tokenize({file, "--decode", "x"}).exit_code, 1);
  EXPECT_EQ(tokenize({"/no/such/folder", "x"}).exit_code, 1);
  EXPECT_EQ(tokenize({}).exit_code, 2);
}

}  // namespace
}  // namespace wick
