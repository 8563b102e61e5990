#include <gtest/gtest.h>

#include "ops/ops.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"
#include "tensor/create.h"

namespace wick {
namespace {

class ViewsTest : public OnEveryDevice {
 protected:
  Tensor counting(const Shape& shape) const {
    return reshape(arange(0, static_cast<double>(shape.numel()), 1, DType::kF32, device()), shape);
  }
};

using Values = std::vector<float>;

TEST_P(ViewsTest, ViewsShareTheBytes) {
  const Tensor x = counting({2, 3, 4});
  const std::vector<Tensor> views = {narrow(x, 1, 1, 2),    transpose(x, 0, 2),
                                     permute(x, {2, 0, 1}), broadcast_as(x, {5, 2, 3, 4}),
                                     unsqueeze(x, -1),      squeeze(unsqueeze(x, 1), 1),
                                     reshape(x, {6, 4}),    reshape(x, {-1}),
                                     chunk(x, 2, 2)[1],     flatten(x, 1),
                                     x.contiguous(),        x.to_dtype(DType::kF32)};
  for (const Tensor& view : views) {
    EXPECT_EQ(view.storage().get(), x.storage().get());
    EXPECT_EQ(view.dtype(), DType::kF32);
  }
  EXPECT_NE(x.clone().storage().get(), x.storage().get());
  EXPECT_NE(transpose(x, 0, 1).contiguous().storage().get(), x.storage().get());
}

TEST_P(ViewsTest, ViewsReadTheRightElements) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(transpose(x, 0, 1).to_vector<float>(), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(narrow(x, 1, 1, 2).to_vector<float>(), (Values{1, 2, 4, 5}));
  EXPECT_EQ(narrow(x, -1, 3, 0).shape(), Shape({2, 0}));
  EXPECT_EQ(reshape(transpose(x, 0, 1), {2, 3}).to_vector<float>(), (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(flip(x, {0, 1}).to_vector<float>(), (Values{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(broadcast_as(narrow(x, 0, 1, 1), {2, 3}).to_vector<float>(), (Values{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(permute(counting({2, 2, 2}), {2, 0, 1}).to_vector<float>(), (Values{0, 2, 4, 6, 1, 3, 5, 7}));
  const auto parts = chunk(counting({7}), 3, 0);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[2].to_vector<float>(), Values{6});
  EXPECT_EQ(chunk(counting({4}), 3, 0).size(), 2u);
}

TEST_P(ViewsTest, OpsOnViewsEqualOpsOnCopies) {
  const Tensor x = randn({6, 5, 4}, 3, DType::kF32, device());
  const std::vector<Tensor> views = {permute(x, {2, 0, 1}), narrow(x, 0, 1, 3), transpose(narrow(x, 1, 2, 2), 0, 2)};
  for (const Tensor& view : views) {
    const Tensor copy = view.clone();
    expect_identical(exp(view), exp(copy), "exp");
    expect_identical(softmax(view, 1), softmax(copy, 1), "softmax");
    expect_close(sum(view, {0, 2}), sum(copy, {0, 2}), 1e-6, "sum");
    expect_close(rms_norm(view, Tensor()), rms_norm(copy, Tensor()), 1e-6, "rms_norm");
    expect_close(matmul(view, transpose(view, 1, 2)), matmul(copy, transpose(copy, 1, 2).clone()), 1e-5, "matmul");
    expect_identical(concat({view, view}, 0), concat({copy, copy}, 0), "concat");
    expect_identical(sort(view, -1).indices, sort(copy, -1).indices, "sort");
    expect_identical(cumsum(view, 0), cumsum(copy, 0), "cumsum");
    expect_identical(tril(view), tril(copy), "tril");
  }
}

TEST_P(ViewsTest, RankEight) {
  const Tensor x = counting({2, 1, 2, 1, 2, 1, 2, 2});
  const Tensor y = permute(x, {7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_EQ(sum(add(y, y)).item(), 2 * 31 * 32 / 2);
  EXPECT_EQ(y.clone().to_vector<float>(), y.to_vector<float>());
  EXPECT_ERROR(unsqueeze(x, 0), kShape, "already has the highest rank, 8");
}

TEST_P(ViewsTest, ConvertsBetweenAllDtypes) {
  const Tensor x = tensor({-2.75, 0.0, 1.5, 100.0}, device());
  for (int from = 0; from < kElementDTypeCount; ++from) {
    const Tensor source = x.to_dtype(static_cast<DType>(from));
    for (int to = 0; to < kElementDTypeCount; ++to) {
      const Tensor target = source.to_dtype(static_cast<DType>(to));
      const auto before = source.to_vector<double>();
      std::vector<double> expected;
      for (const double value : before) {
        visit_dtype(static_cast<DType>(to),
                    [&](auto zero) { expected.push_back(convert<double>(convert<decltype(zero)>(value))); });
      }
      // A negative integer into an unsigned type wraps; everything else converts by value.
      if (is_integer(static_cast<DType>(from)) && is_integer(static_cast<DType>(to)) && before[0] < 0)
        expected[0] = target.to_vector<double>()[0];
      EXPECT_EQ(target.to_vector<double>(), expected)
          << to_string(source.dtype()) << " to " << to_string(target.dtype());
    }
  }
}

TEST_P(ViewsTest, DevicesDoNotMix) {
  const Tensor here = counting({2});
  const Device other = device() == Device::cpu() ? Device::reference() : Device::cpu();
  const Tensor there = here.to_device(other);
  EXPECT_EQ(there.device(), other);
  EXPECT_EQ(there.to_vector<float>(), here.to_vector<float>());
  const std::string both = "one tensor is on " + to_string(device()) + " and another on " + to_string(other);
  EXPECT_ERROR(add(here, there), kDevice, "add: " + both);
  EXPECT_ERROR(concat({here, there}, 0), kDevice, "concat: " + both);
  EXPECT_ERROR(matmul(reshape(here, {1, 2}), reshape(there, {2, 1})), kDevice, "matmul: " + both);
  expect_error([&] { here.to_device(kMissingDevice); }, kMissingDeviceError, "cuda:200");
}

WICK_ON_EVERY_DEVICE(ViewsTest);

}  // namespace
}  // namespace wick
