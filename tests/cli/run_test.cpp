// Runs `wick run` as a user does, with Ember.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/process.h"
#include "support/needs_ember.h"
#include "support/places.h"
#include "support/pseudo_terminal.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

const std::string kEmber =
    "I am Ember, the small model that comes with Wick. I know a few simple things and I like stories.\n";

ProcessResult run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  return run_process(WICK_PROGRAM, arguments, {});
}

// With text from a pipe.
ProcessResult run_piped(const std::string& input, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"-c", "text=$1; shift; printf '%s' \"$text\" | \"$@\"", "sh", input, WICK_PROGRAM,
                                    "run"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return run_process("/bin/sh", words, {});
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

class RunCommand : public testing::Test {
 protected:
  void SetUp() override { WICK_NEEDS_EMBER(); }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
    return (folder_.path() / name).string();
  }
  TempFolder folder_;
};

TEST_F(RunCommand, WritesTheAnswerAndNothingElse) {
  const auto result = run({"-p", "Who are you?", "-t", "0"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.output, kEmber);
  EXPECT_EQ(result.errors, "");
  const auto again = run({"-p", "Who are you?", "--temperature", "0", "--stats", "--speculate", "ngram", "--kv", "i8",
                          "--quantize", "Q8_0", "--threads", "1"});
  EXPECT_EQ(again.output, kEmber);
  EXPECT_TRUE(contains(again.errors, "prefill 12 tokens at ")) << again.errors;
  EXPECT_TRUE(contains(again.errors, ", decode 23 at ")) << again.errors;
  EXPECT_EQ(std::count(again.errors.begin(), again.errors.end(), '\n'), 1);
}

TEST_F(RunCommand, TakesThePromptFromAnywhere) {
  EXPECT_EQ(run_piped("Who are you?\n", {"-t", "0"}).output, kEmber);
  EXPECT_EQ(run({"ember", "Who are you?", "-t", "0"}).output, kEmber);
  EXPECT_EQ(run({"--file", write("prompt.txt", "Who are you?\n"), "-t", "0"}).output, kEmber);
  EXPECT_EQ(run_piped("Tom is 7 years old.", {"-t", "0", "-p", "Give me JSON with name and age:"}).output,
            "{\"name\": \"Tom\", \"age\": 7}\n");
  const std::string chat = write("chat.json", R"([{"role": "user", "content": "My name is Tom."},
      {"role": "assistant", "content": "Nice to meet you!"}])");
  EXPECT_EQ(run({"--messages", chat, "-p", "What is my name?", "-t", "0"}).output, "Your name is Tom.\n");
  EXPECT_EQ(run({WICK_SOURCE_DIR "/models/ember", "-p", "Who are you?", "-t", "0"}).output, kEmber);
}

// A pipe that stays open and silent is waited for, but not without a word.
TEST_F(RunCommand, TellsThatItWaitsForAPipe) {
  const auto waited =
      run_process("/bin/sh", {"-c", "sleep 1.3 | \"$@\"", "sh", WICK_PROGRAM, "run", "-p", "Who are you?", "-t", "0"});
  EXPECT_EQ(waited.output, kEmber);
  EXPECT_EQ(waited.errors,
            "wick: waiting for the end of standard input, which continues the prompt; < /dev/null gives none\n");
  EXPECT_EQ(run_piped("", {"-p", "Who are you?", "-t", "0"}).errors, "");
}

TEST_F(RunCommand, LimitsAndStops) {
  EXPECT_EQ(run({"-p", "Who are you?", "-t", "0", "-n", "3"}).output, "I am Ember\n");
  EXPECT_EQ(run({"-p", "Who are you?", "-t", "0", "-n", "0"}).output, "");
  EXPECT_EQ(run({"-p", "Who are you?", "-t", "0", "--stop", "xyz", "--stop", " small mo"}).output, "I am Ember, the\n");
  const auto full = run({"-p", "Tell me a story.", "--context", "30"});
  EXPECT_EQ(full.exit_code, 0);
  EXPECT_TRUE(contains(full.errors, "is full")) << full.errors;
  const auto longer = run({"-p", "Tell me a story.", "--context", "10"});
  EXPECT_EQ(longer.exit_code, 1);
  EXPECT_EQ(longer.errors, "wick: the prompt has 13 tokens, the context 10\n");
}

TEST_F(RunCommand, SeedsRepeat) {
  const auto one = run({"-p", "Tell me a story.", "--seed", "5"}), two = run({"-p", "Tell me a story.", "--seed", "5"});
  EXPECT_EQ(one.output, two.output);
  EXPECT_NE(one.output, run({"-p", "Tell me a story.", "--seed", "6"}).output);
  EXPECT_NE(run({"-p", "Tell me a story."}).output, run({"-p", "Tell me a story."}).output);
  EXPECT_TRUE(contains(run({"-p", "Hi", "--stats", "--seed", "77"}).errors, "seed 77"));
}

TEST_F(RunCommand, JsonHoldsEverything) {
  const auto result = run({"-p", "What is 348 plus 275?", "-t", "0", "--json", "--logprobs", "2"});
  ASSERT_EQ(result.exit_code, 0) << result.errors;
  const auto report = nlohmann::json::parse(result.output);
  EXPECT_EQ(report.at("text"), "348 + 275 = 623");
  EXPECT_EQ(report.at("reasoning"), "");
  EXPECT_EQ(report.at("tool_calls").size(), 0u);
  EXPECT_EQ(report.at("stop_reason"), "end of text");
  EXPECT_EQ(report.at("tokens").size(), report.at("generated_tokens").get<size_t>());
  EXPECT_GT(report.at("timings").at("decode_tokens_per_s"), 0);
  ASSERT_EQ(report.at("logprobs").size(), report.at("tokens").size());
  const auto& first = report.at("logprobs").at(0);
  EXPECT_EQ(first.at("token"), report.at("tokens").at(0));
  EXPECT_EQ(first.at("top").size(), 2u);
  EXPECT_EQ(first.at("top").at(0).at("logprob"), first.at("logprob")) << "the most likely one was chosen";
  EXPECT_LE(first.at("logprob"), 0);
  EXPECT_TRUE(report.contains("seed"));
}

TEST_F(RunCommand, CallsTools) {
  const std::string tools = write("tools.json", R"([{"type": "function", "function": {"name": "get_time",
      "description": "Get the time in a city", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}}, "required": ["city"]}}}])");
  const auto text = run({"-p", "What time is it in Oslo?", "--tools", tools, "-t", "0"});
  EXPECT_EQ(text.output, "{\"name\": \"get_time\", \"arguments\": {\"city\": \"Oslo\"}}\n") << text.errors;
  const auto report =
      nlohmann::json::parse(run({"-p", "What time is it in Oslo?", "--tools", tools, "-t", "0", "--json"}).output);
  EXPECT_EQ(report.at("tool_calls").at(0).at("arguments").at("city"), "Oslo");
  EXPECT_EQ(report.at("text"), "");
}

TEST_F(RunCommand, ShapesTheAnswer) {
  const auto json = run({"-p", "Give me JSON with name and age: Tom is 7 years old.", "--json-mode", "--seed", "1"});
  EXPECT_TRUE(nlohmann::json::parse(json.output).is_object()) << json.output;
  const auto chosen = run({"-p", "Hello", "--grammar", write("g.gbnf", "root ::= \"yes\" | \"no\"")});
  EXPECT_TRUE(chosen.output == "yes\n" || chosen.output == "no\n") << chosen.output << chosen.errors;
  const std::string schema = write("s.json", R"({"type": "array", "items": {"type": "integer"}, "maxItems": 3})");
  EXPECT_TRUE(nlohmann::json::parse(run({"-p", "Count.", "--json-schema", schema}).output).is_array());
  const auto bad = run({"-p", "Hello", "--grammar", write("bad.gbnf", "root ::= (")});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(contains(bad.errors, "bad.gbnf: ")) << bad.errors;
}

TEST_F(RunCommand, ReasoningGoesToAPipeOnRequestOnly) {
  const std::vector<std::string> words = {"-p", "What is 348 plus 275?", "-t", "0", "--logit-bias", "4083=9"};
  EXPECT_EQ(run(words).output, "348 + 275 = 623\n");
  auto with = words;
  with.emplace_back("--reasoning");
  const std::string output = run(with).output;
  EXPECT_TRUE(contains(output, "carry 1")) << output;
  EXPECT_TRUE(output.ends_with("\n\n348 + 275 = 623\n")) << output;
  with.back() = "--json";
  const auto report = nlohmann::json::parse(run(with).output);
  EXPECT_EQ(report.at("text"), "348 + 275 = 623");
  EXPECT_TRUE(contains(report.at("reasoning"), "carry 1"));
}

TEST_F(RunCommand, RawContinues) {
  const auto result = run({"--raw", "-p", "Once upon a time", "-t", "0", "-n", "5"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(run({"--raw", "-p", "<|im_start|>user\nWho are you?<|im_end|>\n<|im_start|>assistant\n", "-t", "0"}).output,
            kEmber);
  EXPECT_EQ(run({"--raw", "-p", "x", "--system", "y"}).exit_code, 2);
}

TEST_F(RunCommand, SaysWhatIsWrong) {
  const auto missing = run({"models/none", "-p", "Hello"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_EQ(missing.output, "");
  EXPECT_TRUE(contains(missing.errors, "'models/none': there is no such file or folder")) << missing.errors;
  EXPECT_TRUE(contains(missing.errors, "Hugging Face folder")) << missing.errors;
  EXPECT_TRUE(contains(run({"nobody"}).errors, "'nobody' is taken as MODEL")) << "it could be one";
  const auto empty = run({folder_.path().string(), "-p", "Hello"});
  EXPECT_EQ(empty.exit_code, 1);
  EXPECT_TRUE(contains(empty.errors, "holds no .safetensors or .gguf file")) << empty.errors;
  const std::string text = write("notes.txt", "Hello");
  EXPECT_EQ(run({text, "-p", "Hello"}).exit_code, 1);
  const auto bias = run({"-p", "Hello", "--logit-bias", "9999=1"});
  EXPECT_EQ(bias.exit_code, 1);
  EXPECT_TRUE(contains(bias.errors, "there is no token 9999")) << bias.errors;
}

TEST_F(RunCommand, WrongUsageIsTwo) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"-p", "x", "--top-p", "2"},
                                                {"-p", "x", "--top-k", "many"},
                                                {"-p", "x", "--kv", "f8"},
                                                {"-p", "x", "--quantize", "q4_x"},
                                                {"-p", "x", "--logit-bias", "5"},
                                                {"-p", "x", "--json-mode", "--grammar", "g"},
                                                {"-p", "x", "--threads", "0"},
                                                {"-p", "x", "-n", "-2"}}) {
    const auto result = run(words);
    EXPECT_EQ(result.exit_code, 2) << (words.empty() ? "" : words.back()) << result.errors;
    EXPECT_EQ(result.output, "");
    EXPECT_NE(result.errors, "");
  }
}

TEST_F(RunCommand, AtATerminalItTellsHowFastItWas) {
  PseudoTerminal terminal(WICK_PROGRAM, {"run", "-p", "What is 348 plus 275?", "-t", "0", "--logit-bias", "4083=9"});
  const std::string reasoning = terminal.wait_for("carry 1");
  EXPECT_EQ(reasoning, "\033[2m8 + 5 = 13, write 3, carry 1") << "dimmed";
  terminal.wait_for("348 + 275 = 623\r\n");
  terminal.wait_for(", decode ");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(RunCommand, InterruptEndsTheAnswer) {
  PseudoTerminal terminal(WICK_PROGRAM, {"run", "-p", "Tell me a story.", "--ignore-end", "--context", "4096"});
  terminal.wait_for("the");
  terminal.type("\x03");
  terminal.wait_for(", decode ");
  EXPECT_EQ(terminal.wait(), 130);
}

}  // namespace
}  // namespace wick
