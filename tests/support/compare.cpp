#include "support/compare.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/text.h"

namespace wick {

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& what) {
  ASSERT_TRUE(actual.defined()) << what << " is missing";
  ASSERT_EQ(actual.shape(), expected.shape())
      << what << ": " << to_string(actual.shape()) << " for " << to_string(expected.shape());
  if (is_integer(expected.dtype())) tolerance = 0;
  const auto got = actual.to_vector<double>(), want = expected.to_vector<double>();
  for (size_t i = 0; i < got.size(); ++i) {
    const bool same = got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]));
    const double error = std::abs(got[i] - want[i]);
    if (same || error <= tolerance * std::max(1.0, std::abs(want[i]))) continue;
    ADD_FAILURE() << what << "[" << i << "] of " << to_string(expected.shape()) << ": got " << got[i] << ", expected "
                  << want[i] << ", off by " << error << " (allowed " << tolerance << ")";
    return;
  }
}

void expect_identical(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  ASSERT_EQ(to_string(actual.dtype()), to_string(expected.dtype())) << what;
  const Tensor a = actual.to_device(Device::cpu()).contiguous(), b = expected.to_device(Device::cpu()).contiguous();
  const int64_t size = size_of(a.dtype());
  for (int64_t i = 0; i < a.numel(); ++i) {
    if (std::memcmp(a.raw() + i * size, b.raw() + i * size, size) == 0) continue;
    const double x = a.to_vector<double>()[i], y = b.to_vector<double>()[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    ADD_FAILURE() << what << "[" << i << "] of " << to_string(a.shape()) << ": "
                  << fmt::format("{:.17g} and {:.17g}", x, y) << " are not the same bits";
    return;
  }
}

}  // namespace wick
