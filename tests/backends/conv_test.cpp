// Convolution, pooling and resampling against the reference, on the CPU under every instruction set, and that results
// do not depend on the number of threads or on the rest of the batch.
#include <gtest/gtest.h>

#include <functional>

#include "support/kernel_cases.h"

namespace wick {
namespace {

using Tensors = std::vector<Tensor>;

// An op on one image batch, with whatever else it takes.
struct Case {
  std::string name;
  Shape x;
  Shape weight;  // empty shape: none
  int64_t bias = 0;
  std::function<Tensor(const Tensors&)> run;
};

Case conv(const Shape& x, const Shape& weight, const Conv2dOptions& options) {
  return {cat("conv2d ", x, " ", weight), x, weight, weight[0],
          [options](const Tensors& in) { return conv2d(in[0], in[1], in[2], options); }};
}
Case conv_back(const Shape& x, const Shape& weight, const ConvTranspose2dOptions& options) {
  return {cat("conv_transpose2d ", x, " ", weight), x, weight, weight[1] * options.groups,
          [options](const Tensors& in) { return conv_transpose2d(in[0], in[1], in[2], options); }};
}
Case image_op(const std::string& name, const Shape& x, std::function<Tensor(const Tensor&)> op) {
  return {cat(name, " ", x), x, {}, 0, [op](const Tensors& in) { return op(in[0]); }};
}

// Sizes that fill no tile: rows, columns and channels around 8, 16, 48 and 128, narrow and wide images.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      conv({2, 17, 9, 11}, {13, 17, 3, 3}, {.padding = 1}),
      conv({1, 3, 23, 31}, {9, 3, 3, 3}, {.stride = 2, .padding = 1}),
      conv({1, 4, 13, 70}, {5, 4, 3, 5}, {.stride = {1, 3}, .padding = {2, 4}}),
      conv({1, 6, 15, 15}, {10, 6, 3, 3}, {.padding = 2, .dilation = 2}),
      conv({1, 5, 20, 19}, {7, 5, 2, 3}, {.stride = 2, .padding = {0, 3}, .dilation = {3, 2}}),
      conv({2, 12, 8, 7}, {18, 4, 3, 3}, {.stride = 2, .padding = 1, .groups = 3}),
      conv({2, 5, 11, 37}, {5, 1, 3, 3}, {.padding = 1, .groups = 5}),
      conv({1, 3, 9, 66}, {6, 1, 5, 4}, {.stride = {2, 3}, .padding = 2, .groups = 3}),
      conv({1, 3, 4, 5}, {3, 1, 3, 3}, {.padding = 6, .dilation = {2, 3}, .groups = 3}),
      conv({1, 2, 2, 2}, {2, 1, 1, 2}, {.stride = 50, .padding = 100, .dilation = 90, .groups = 2}),
      conv({2, 131, 5, 10}, {33, 131, 1, 1}, {}),
      conv({1, 40, 7, 9}, {12, 40, 1, 1}, {.stride = 2}),
      conv({1, 260, 3, 3}, {8, 260, 3, 3}, {.padding = 1}),
      conv({2, 21, 1, 130}, {19, 21, 1, 3}, {.padding = {0, 1}}),
      conv({1, 9, 1, 101}, {16, 9, 1, 4}, {.stride = {1, 2}, .padding = {0, 1}}),
      conv({1, 3, 32, 32}, {20, 3, 8, 8}, {.stride = 8}),
      conv({1, 1, 1, 1}, {1, 1, 1, 1}, {.stride = 3, .padding = 2}),
      conv_back({2, 7, 6, 5}, {7, 9, 3, 3}, {.padding = 1}),
      conv_back({1, 130, 3, 17}, {130, 4, 2, 2}, {.stride = 2}),
      conv_back({1, 6, 5, 7}, {6, 4, 4, 3}, {.stride = {2, 3}, .padding = 1, .output_padding = {1, 2}, .groups = 2}),
      conv_back({2, 4, 4, 9}, {4, 3, 3, 3}, {.stride = 2, .padding = 2, .dilation = 2}),
      conv_back({1, 8, 1, 60}, {8, 5, 1, 16}, {.stride = {1, 8}, .padding = {0, 4}}),
      conv_back({1, 1, 2, 2}, {1, 1, 1, 1}, {.stride = 40, .output_padding = 9}),
      image_op("avg_pool2d", {2, 3, 17, 40}, [](const Tensor& x) { return avg_pool2d(x, 3, 2); }),
      image_op("avg_pool2d", {1, 5, 9, 37},
               [](const Tensor& x) {
                 return avg_pool2d(x, {2, 5}, {3, 1});
               }),
      image_op("max_pool2d", {2, 3, 17, 40}, [](const Tensor& x) { return max_pool2d(x, 3, 2); }),
      image_op("max_pool2d", {1, 5, 9, 37},
               [](const Tensor& x) {
                 return max_pool2d(x, {2, 5}, {3, 1});
               }),
      image_op("nearest", {2, 3, 7, 19},
               [](const Tensor& x) {
                 return upsample_nearest2d_by(x, {3, 2});
               }),
      image_op("bilinear", {2, 3, 7, 19},
               [](const Tensor& x) {
                 return upsample_bilinear2d(x, {11, 45});
               }),
      image_op("bicubic", {2, 3, 7, 19},
               [](const Tensor& x) {
                 return upsample_bicubic2d(x, {15, 9});
               }),
  };
  return all;
}

Tensors inputs_of(const Case& c, DType dtype, Device device) {
  Tensors inputs = {randn(c.x, 1, dtype, device)};
  if (c.weight.rank() > 0) {
    inputs.push_back(randn(c.weight, 2, dtype, device));
    inputs.push_back(randn({c.bias}, 3, dtype, device));
  }
  return inputs;
}

// The output, then the gradient by each input.
Tensors run_with_gradients(const Case& c, const Tensors& inputs) {
  Tensors vars;
  for (const Tensor& input : inputs) vars.push_back(Var(input).tensor());
  const Tensor out = c.run(vars);
  const Gradients grads = backward(out, randn(out.shape(), 4, out.dtype(), out.device()));
  Tensors results = {out.detach()};
  for (const Tensor& var : vars) results.push_back(grads.of(var));
  return results;
}

class Threads {
 public:
  explicit Threads(int count) : before_(ThreadPool::instance().size()) { ThreadPool::instance().resize(count); }
  ~Threads() { ThreadPool::instance().resize(before_); }

 private:
  int before_;
};

// Sums of n products of unit size differ by about sqrt(n) roundings; the reference's own size sets the scale.
void expect_near(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what) {
  double largest = 1;
  for (const double value : expected.to_vector<double>()) largest = std::max(largest, std::abs(value));
  expect_close(actual, expected, tolerance * largest, what);
}

TEST(ConvKernels, MatchTheReferenceUnderEveryInstructionSet) {
  for (const Case& c : cases()) {
    const Tensors expected = run_with_gradients(c, inputs_of(c, DType::kF32, Device::reference()));
    on_every_target([&](const std::string& target) {
      for (const Device device : tuned_devices()) {
        const Tensors actual = run_with_gradients(c, inputs_of(c, DType::kF32, device));
        for (size_t i = 0; i < actual.size(); ++i) {
          expect_near(actual[i], expected[i], 1e-6, cat(c.name, " result ", i, " on ", device, " with ", target));
        }
      }
    });
  }
}

TEST(ConvKernels, MatchTheReferenceInEveryFloatType) {
  for (const Case& c : cases()) {
    for (const DType dtype : {DType::kF64, DType::kF16, DType::kBF16}) {
      const Tensor expected = c.run(inputs_of(c, dtype, Device::reference()));
      const double tolerance = dtype == DType::kF64 ? 1e-15 : dtype == DType::kF16 ? 1e-3 : 8e-3;
      for (const Device device : tuned_devices()) {
        expect_near(c.run(inputs_of(c, dtype, device)), expected, tolerance,
                    cat(c.name, " in ", dtype, " on ", device));
      }
    }
  }
}

TEST(ConvKernels, AnyNumberOfThreadsGivesTheSameBits) {
  for (const Case& c : cases()) {
    const Tensors inputs = inputs_of(c, DType::kF32, Device::cpu());
    Tensors expected;
    for (const int threads : {1, 2, 3, 4}) {
      const Threads sized(threads);
      const Tensors actual = run_with_gradients(c, inputs);
      if (threads == 1) expected = actual;
      for (size_t i = 0; i < actual.size(); ++i) {
        expect_identical(actual[i], expected[i], cat(c.name, " result ", i, " with ", threads, " threads"));
      }
    }
  }
}

TEST(ConvKernels, AnImageDoesNotDependOnItsBatch) {
  for (const Case& c : cases()) {
    for (const Device device : tuned_devices()) {
      Tensors inputs = inputs_of(c, DType::kF32, device);
      const Tensor other = randn(c.x, 5, DType::kF32, device);
      const Tensor alone = c.run(inputs);
      inputs[0] = concat(Tensors{other, inputs[0], other}, 0);
      expect_identical(narrow(c.run(inputs), 0, c.x[0], c.x[0]), alone, cat(c.name, " on ", device));
    }
  }
}

TEST(ConvKernels, ReadStridedAndMixedInputs) {
  const Tensor x = permute(randn({2, 9, 13, 6}, 1), {0, 3, 1, 2}),
               weight = permute(randn({3, 5, 6, 7}, 2), {3, 2, 0, 1});
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const Conv2dOptions options{.stride = 2, .padding = 1};
    const Tensor w = weight.to_dtype(dtype), wt = transpose(w, 0, 1);
    const Tensor there = conv2d(on_reference(x), on_reference(w), {}, options);
    const Tensor back = conv_transpose2d(on_reference(x), on_reference(wt), {}, {.stride = 2});
    for (const Device device : tuned_devices()) {
      const std::string what = cat("weight in ", dtype, " on ", device);
      expect_near(conv2d(moved(x, device), moved(w, device), {}, options), there, 1e-6, what);
      expect_near(conv_transpose2d(moved(x, device), moved(wt, device), {}, {.stride = 2}), back, 1e-6, what);
    }
  }
}

}  // namespace
}  // namespace wick
