// ONNX's own tests of operators, as the distribution's package libonnx-testdata has them: models of a node or a few,
// with inputs and what they give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>

#include "graph/graph_model.h"
#include "graph/known_failures.h"
#include "graph/value_file.h"
#include "tensor/create.h"

namespace wick::graph {
namespace {

namespace fs = std::filesystem;

fs::path suite_folder() {
  const char* given = std::getenv("WICK_ONNX_SUITE");
  return given ? fs::path(given) : fs::path("/usr/share/libonnx-testdata/data");
}

// The suite stores bf16 as u16.
Value read_suite_value(const fs::path& path, const ValueType& type) {
  const Value value = read_value_file(path, type);
  if (type.element != ElementType::kBF16 || value.type() != ElementType::kU16) return value;
  const Tensor out = empty(value.shape(), DType::kBF16);
  const auto bits = value.tensor().to_vector<int32_t>();
  for (size_t i = 0; i < bits.size(); ++i) out.mutable_data<BFloat16>()[i].bits = static_cast<uint16_t>(bits[i]);
  return out;
}

// Empty: passed.
std::string run_test(const fs::path& folder, bool optimize) {
  try {
    GraphOptions options;
    options.optimize = optimize;
    const auto model = GraphModel::open(folder / "model.onnx", options);
    for (int set = 0; fs::exists(folder / cat("test_data_set_", set)); ++set) {
      const fs::path data = folder / cat("test_data_set_", set);
      NamedValues inputs;
      for (size_t i = 0; i < model->inputs().size(); ++i) {
        const fs::path file = data / cat("input_", i, ".pb");
        if (fs::exists(file)) inputs[model->inputs()[i].name] = read_suite_value(file, model->inputs()[i].type);
      }
      const NamedValues outputs = model->run(inputs);
      for (size_t i = 0; i < model->outputs().size(); ++i) {
        const Value expected = read_suite_value(data / cat("output_", i, ".pb"), model->outputs()[i].type);
        const std::string text = difference(outputs.at(model->outputs()[i].name), expected);
        if (!text.empty()) return cat("output ", i, " ", text);
      }
    }
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

class OnnxSuite : public testing::TestWithParam<const char*> {};

TEST_P(OnnxSuite, PassesButForKnownFailures) {
  const fs::path folder = suite_folder() / GetParam();
  if (!fs::exists(folder)) GTEST_SKIP() << "there is no " << folder << " (package libonnx-testdata)";
  std::vector<fs::path> tests;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (fs::exists(entry.path() / "model.onnx")) tests.push_back(entry.path());
  }
  std::sort(tests.begin(), tests.end());
  size_t passed = 0;
  for (const fs::path& test : tests) {
    const std::string name = test.filename().string();
    std::string problem = run_test(test, true);
    if (problem.empty()) problem = run_test(test, false);
    const bool known = std::any_of(std::begin(kKnownFailures), std::end(kKnownFailures),
                                   [&](const KnownFailure& f) { return f.test == name; });
    passed += problem.empty();
    if (known) {
      EXPECT_FALSE(problem.empty()) << name << " passes: take it from the list";
    } else {
      EXPECT_EQ(problem, "") << name;
    }
  }
  std::cout << GetParam() << ": " << passed << " of " << tests.size() << " pass\n";
  const double least = tests.size() > 30 ? 0.98 : 0.9;
  EXPECT_GE(static_cast<double>(passed), least * static_cast<double>(tests.size()));
}

INSTANTIATE_TEST_SUITE_P(All, OnnxSuite, testing::Values("node", "simple", "pytorch-converted", "pytorch-operator"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace wick::graph
