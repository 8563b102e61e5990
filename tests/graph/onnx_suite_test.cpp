// ONNX's own tests of operators, as the distribution's package libonnx-testdata has them: models of a node or a few,
// with inputs and what they give.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "graph/graph_model.h"
#include "graph/known_failures.h"

namespace wick::graph {
namespace {

namespace fs = std::filesystem;

fs::path suite_folder() {
  const char* given = std::getenv("WICK_ONNX_SUITE");
  return given ? fs::path(given) : fs::path("/usr/share/libonnx-testdata/data");
}

Value read_value(const fs::path& path, const ValueType& type) {
  OnnxType::Kind kind = OnnxType::Kind::kTensor;
  if (type.kind == Value::Kind::kSequence) kind = OnnxType::Kind::kSequence;
  if (type.optional) kind = OnnxType::Kind::kOptional;
  const auto file = MappedFile::open(path);
  const OnnxValue stored = read_onnx_value(*file, kind);
  if (stored.is_empty) return {};
  std::vector<Value> parts;
  for (const OnnxTensor& tensor : stored.tensors) parts.push_back(read_tensor(tensor, file, nullptr));
  if (!stored.is_sequence) return parts.at(0);
  const ElementType element = parts.empty() ? type.element : parts[0].type();
  return {std::move(parts), element};
}

// Empty: equal within the tolerances of ONNX's own runner.
std::string difference(const Value& got, const Value& expected) {
  if (got.kind() != expected.kind()) return cat("is ", describe(got), ", expected ", describe(expected));
  if (got.kind() == Value::Kind::kNothing) return "";
  if (got.kind() == Value::Kind::kSequence) {
    if (got.sequence().size() != expected.sequence().size()) return cat("is ", describe(got), ", expected ", describe(expected));
    for (size_t i = 0; i < got.sequence().size(); ++i) {
      const std::string text = difference(got.sequence()[i], expected.sequence()[i]);
      if (!text.empty()) return cat("element ", i, " ", text);
    }
    return "";
  }
  if (got.type() != expected.type() || got.shape() != expected.shape()) return cat("is ", describe(got), ", expected ", describe(expected));
  if (got.kind() == Value::Kind::kStrings) {
    for (size_t i = 0; i < got.strings().values.size(); ++i) {
      if (got.strings().values[i] != expected.strings().values[i]) return cat("'", got.strings().values[i], "', expected '", expected.strings().values[i], "'");
    }
    return "";
  }
  const auto a = got.tensor().to_vector<double>(), b = expected.tensor().to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::fabs(a[i] - b[i]) <= 1e-7 + 1e-3 * std::fabs(b[i]);
    if (!same) return cat("element ", i, " is ", a[i], ", expected ", b[i]);
  }
  return "";
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
        if (fs::exists(file)) inputs[model->inputs()[i].name] = read_value(file, model->inputs()[i].type);
      }
      const NamedValues outputs = model->run(inputs);
      for (size_t i = 0; i < model->outputs().size(); ++i) {
        const Value expected = read_value(data / cat("output_", i, ".pb"), model->outputs()[i].type);
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
    const bool known = std::any_of(std::begin(kKnownFailures), std::end(kKnownFailures), [&](const KnownFailure& f) { return f.test == name; });
    passed += problem.empty();
    if (known) {
      EXPECT_FALSE(problem.empty()) << name << " passes: take it from the list";
    } else {
      EXPECT_EQ(problem, "") << name;
    }
  }
  std::cout << GetParam() << ": " << passed << " of " << tests.size() << " pass\n";
  EXPECT_GE(static_cast<double>(passed), 0.98 * static_cast<double>(tests.size()));
}

INSTANTIATE_TEST_SUITE_P(All, OnnxSuite, testing::Values("node", "simple", "pytorch-converted", "pytorch-operator"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace wick::graph
