// `wick verify`: its report, and the command as a user runs it.
#include "cli/verify_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/process.h"
#include "support/fixtures.h"
#include "support/places.h"

namespace wick {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string fixture(const char* name) { return fixture_folders(name).front().string(); }

TEST(VerifyReport, PrintsATable) {
  VerifyReport report{"m", "m/reference.safetensors", "q8_0", {}};
  report.check.family = "qwen3";
  report.check.weights = DType::kBF16;
  report.check.tolerance = 2e-4;
  report.check.tensors = {{"hidden_0", {24, 64}, 1e-6, 2e-7, "", true}, {"logits", {24, 192}, 0.5, 0.01, "", false}};
  report.check.tokens = {{"greedy", 23, 24, true, true, "token 3 is 1, expected 2, which is as good"}};
  report.check.not_checked = {"router_0"};
  EXPECT_EQ(to_text(report, {}),
            "m: qwen3, weights in bf16 as q8_0\n"
            "against m/reference.safetensors, tolerance 0.0002\n"
            "\n"
            "tensor    shape       max abs  relative\n"
            "hidden_0  [24, 64]   1.00e-06  2.00e-07  ok\n"
            "logits    [24, 192]  5.00e-01  1.00e-02  out of tolerance\n"
            "\n"
            "greedy: 23 of 24 tokens the same (token 3 is 1, expected 2, which is as good)\n"
            "not checked: router_0\n"
            "failed: 1 of 2 tensors are out of tolerance; the first is logits, the worst logits\n");
  report.check.tensors[1].ok = true;
  EXPECT_TRUE(to_text(report, {}).ends_with("\nok\n"));
}

TEST(VerifyProgram, Passes) {
  const auto text = run_process(WICK_PROGRAM, {"verify", fixture("qwen3")});
  EXPECT_EQ(text.exit_code, 0) << text.output << text.errors;
  EXPECT_TRUE(text.output.ends_with("\nok\n")) << text.output;
  EXPECT_FALSE(contains(text.output, "\033"));
  const auto json = run_process(WICK_PROGRAM, {"verify", fixture("llama"), "--json", "--threads", "2"});
  ASSERT_EQ(json.exit_code, 0) << json.errors;
  const auto report = nlohmann::json::parse(json.output);
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_EQ(report.at("tensors").at(0).at("name"), "hidden_0");
}

TEST(VerifyProgram, FailsWithOneAndWrongUsageWithTwo) {
  const std::string model = fixture("qwen3"), other = fixture("llama") + "/reference.safetensors";
  EXPECT_EQ(run_process(WICK_PROGRAM, {"verify", model, "--quantize", "q4_0"}).exit_code, 1);
  EXPECT_EQ(run_process(WICK_PROGRAM, {"verify", model, "--quantize", "q8_0", "--tolerance", "0.5"}).exit_code, 0);
  EXPECT_EQ(run_process(WICK_PROGRAM, {"verify", model, "--reference", other}).exit_code, 1);
  const auto missing = run_process(WICK_PROGRAM, {"verify", model, "--reference", "no.safetensors"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(contains(missing.errors, "no.safetensors")) << missing.errors;
  for (const std::vector<std::string>& words : {std::vector<std::string>{"verify"},
                                                {"verify", model, "--tolerance", "small"},
                                                {"verify", model, "--quantize", "q9"}}) {
    EXPECT_EQ(run_process(WICK_PROGRAM, words).exit_code, 2) << words.back();
  }
}

}  // namespace
}  // namespace wick
