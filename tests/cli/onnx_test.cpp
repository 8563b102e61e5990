// `wick onnx` as a user runs it.
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/process.h"
#include "support/places.h"
#include "support/temp_folder.h"

namespace wick {
namespace {

const std::string kFolder = WICK_SOURCE_DIR "/tests/fixtures/onnx/";

ProcessResult onnx(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "onnx");
  return run_process(WICK_PROGRAM, arguments, {});
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Onnx, InspectsAndChecks) {
  const auto shown = onnx({"inspect", kFolder + "small.onnx", "--nodes"});
  EXPECT_EQ(shown.exit_code, 0) << shown.errors;
  for (const char* part : {"inputs     x  f32 [rows, 3]", "outputs    y  f32 [rows, 2]", "opsets     ai.onnx 17",
                           "2 MatMul", "y = Softmax(scores)", "Wick has all operators"}) {
    EXPECT_TRUE(contains(shown.output, part)) << part << "\n" << shown.output;
  }
  EXPECT_EQ(onnx({"check", kFolder + "small.onnx"}).exit_code, 0);
  const auto bad = onnx({"check", kFolder + "x.npy"});
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(contains(bad.errors, "x.npy: byte ")) << bad.errors;
}

TEST(Onnx, RunsWithFiles) {
  const TempFolder folder;
  const std::string out = (folder.path() / "out.npz").string();
  const auto run = onnx({"run", kFolder + "small.onnx", "--input", kFolder + "x.npy", "--output", out, "--watch", "h",
                         "--compare", kFolder + "y.npy", "--rtol", "1e-5", "--profile"});
  EXPECT_EQ(run.exit_code, 0) << run.output << run.errors;
  for (const char* part : {"compare y: equal within the tolerance", "y  f32 [2, 2]", "h  f32 [2, 4]", "MatMul"}) {
    EXPECT_TRUE(contains(run.output, part)) << part << "\n" << run.output;
  }
  // What was written is what it gives again.
  const auto again = onnx({"run", kFolder + "small.onnx", "--input", "x=" + kFolder + "x.npy", "--compare", out});
  EXPECT_EQ(again.exit_code, 1);  // the file holds the watched value, too, which is no output now
  EXPECT_TRUE(contains(again.errors, "there is no output 'h' to compare")) << again.errors;
  const auto wrong = onnx({"run", kFolder + "small.onnx", "--random", "5x3", "--compare", kFolder + "y.npy"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(contains(wrong.output, "compare y: is f32 [5, 2], expected f32 [2, 2]")) << wrong.output;
  const auto missing = onnx({"run", kFolder + "small.onnx"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_TRUE(contains(missing.errors, "input 'x' (f32 [rows, 3]) is missing")) << missing.errors;
  const auto little = onnx({"run", kFolder + "small.onnx", "--random", "100000x3", "--memory", "1M"});
  EXPECT_EQ(little.exit_code, 1);
  EXPECT_TRUE(contains(little.errors, "out of memory")) << little.errors;
}

}  // namespace
}  // namespace wick
