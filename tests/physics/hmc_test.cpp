#include "physics/hmc.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "physics/dual_averaging.h"
#include "physics/systems.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"

namespace wick::physics {
namespace {

constexpr int64_t kDim = 10;

// N(mean, covariance) as a potential 1/2 (q - mean)^T precision (q - mean); the gradient is left to the caller.
struct Gaussian {
  Tensor mean, covariance, precision;

  static double width(int64_t i) { return 0.6 + 0.1 * static_cast<double>(i); }

  Gaussian(DType dtype, Device device) {
    mean = arange(0, kDim, 1, dtype, device) * 0.5 - 2.0;
    // Neighbours correlate by 0.8, and the widths run from 0.6 to 1.5.
    std::vector<double> values;
    for (int i = 0; i < kDim; ++i) {
      for (int j = 0; j < kDim; ++j) values.push_back(width(i) * width(j) * std::pow(0.8, std::abs(i - j)));
    }
    covariance = from_vector(values, {kDim, kDim}).to_dtype(dtype).to_device(device);
    // M^-1 of a mass matrix, applied to the identity, is the inverse.
    std::vector<double> identity(kDim * kDim, 0);
    for (int64_t i = 0; i < kDim; ++i) identity[i * kDim + i] = 1;
    const Tensor eye = from_vector(identity, {kDim, kDim}).to_dtype(dtype).to_device(device);
    precision = MassMatrix::full(covariance).velocity(eye);
  }

  Hamiltonian system() const {
    Hamiltonian result;
    result.potential = [*this](const Tensor& q) {
      const Tensor off = q - mean;
      return sum(off * matmul(off, precision), {-1}) * 0.5;
    };
    result.gradient = [*this](const Tensor& q) { return matmul(q - mean, precision); };
    return result;
  }
};

// How many independent draws a chain is worth: n / (1 + 2 sum of autocorrelations), summed in pairs until a pair is
// negative (Geyer 1992).
double effective_size(const std::vector<double>& x) {
  const auto n = static_cast<double>(x.size());
  const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const auto covariance = [&](size_t lag) {
    double total = 0;
    for (size_t i = 0; i + lag < x.size(); ++i) total += (x[i] - mean) * (x[i + lag] - mean);
    return total / n;
  };
  const double variance = covariance(0);
  double time = -1;
  for (size_t lag = 0; lag + 1 < x.size(); lag += 2) {
    const double pair = (covariance(lag) + covariance(lag + 1)) / variance;
    if (pair < 0) break;
    time += 2 * pair;
  }
  return std::min(n / std::max(time, 1e-9), 4 * n);
}

// Values of one function of the draws, chain by chain, pooled: its mean, and that mean's standard error.
struct Estimate {
  double mean = 0, error = 0;
};
Estimate estimate(const Tensor& values) {  // [draws, chains]
  const int64_t draws = values.dim(0), chains = values.dim(1);
  const auto all = values.to_vector<double>();
  Estimate result;
  result.mean = std::accumulate(all.begin(), all.end(), 0.0) / static_cast<double>(all.size());
  double variance = 0, size = 0;
  for (int64_t c = 0; c < chains; ++c) {
    std::vector<double> chain;
    for (int64_t d = 0; d < draws; ++d) chain.push_back(all[d * chains + c]);
    size += effective_size(chain);
  }
  for (const double value : all) variance += (value - result.mean) * (value - result.mean);
  result.error = std::sqrt(variance / static_cast<double>(all.size()) / size);
  return result;
}

// Every mean and every covariance within 5 standard errors: 65 numbers, and the errors are estimates themselves, so 4
// would fail by chance too often. The errors must also be small, or the test would pass on nothing.
void expect_recovered(const Tensor& samples, const Gaussian& target) {
  const Tensor draws = samples.to_dtype(DType::kF64).to_device(Device::cpu());  // [draws, chains, dim]
  const auto means = target.mean.to_vector<double>(), covariances = target.covariance.to_vector<double>();
  const auto coordinate = [&](int64_t i) { return squeeze(narrow(draws, 2, i, 1), 2) - means[i]; };
  for (int64_t i = 0; i < kDim; ++i) {
    const Estimate off = estimate(coordinate(i));
    EXPECT_LT(off.error, 0.08 * Gaussian::width(i));
    EXPECT_NEAR(off.mean, 0, 5 * off.error) << "mean " << i;
    for (int64_t j = 0; j <= i; ++j) {
      const Estimate product = estimate(coordinate(i) * coordinate(j));
      EXPECT_LT(product.error, 0.08 * Gaussian::width(i) * Gaussian::width(j));
      EXPECT_NEAR(product.mean, covariances[i * kDim + j], 5 * product.error) << "covariance " << i << ", " << j;
    }
  }
}

HmcOptions small_run() {
  HmcOptions options;
  options.warmup = 500;
  options.draws = 500;
  options.leapfrog_steps = 12;
  options.seed = 2024;
  return options;
}

class Hmc : public OnEveryDevice {};

TEST_P(Hmc, RecoversACorrelatedGaussian) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    SCOPED_TRACE(to_string(dtype));
    const Gaussian target(dtype, device());
    const HmcResult result = hmc_sample(target.system(), zeros({4, kDim}, dtype, device()), small_run());
    ASSERT_EQ(result.samples.shape(), (Shape{500, 4, kDim}));
    ASSERT_EQ(result.samples.dtype(), dtype);
    EXPECT_EQ(result.divergences, 0);
    EXPECT_NEAR(result.acceptance, 0.8, 0.05);
    EXPECT_NEAR(result.accepted, result.acceptance, 0.03);
    expect_recovered(result.samples, target);
    RecordProperty(fmt::format("acceptance_{}", to_string(dtype)), fmt::format("{:.4f}", result.acceptance));
    RecordProperty(fmt::format("step_{}", to_string(dtype)), fmt::format("{:.4f}", result.step));
  }
}

// With the precision as mass all directions are alike, so the step is longer.
TEST_P(Hmc, AFullMassMatrixTakesLongerSteps) {
  const Gaussian target(DType::kF64, device());
  Hamiltonian system = target.system();
  const Tensor start = zeros({4, kDim}, DType::kF64, device());
  HmcOptions options = small_run();
  options.leapfrog_steps = 4;
  system.mass = MassMatrix::full(target.precision);
  const HmcResult with_mass = hmc_sample(system, start, options);
  EXPECT_NEAR(with_mass.acceptance, 0.8, 0.05);
  expect_recovered(with_mass.samples, target);

  options.draws = 1;
  EXPECT_GT(with_mass.step, 1.3 * hmc_sample(target.system(), start, options).step);
}

TEST_P(Hmc, AutogradAndADiagonalMassSampleTheSameDistribution) {
  const Gaussian target(DType::kF64, device());
  Hamiltonian system = target.system();
  system.gradient = nullptr;
  const auto variances = target.covariance.to_vector<double>();
  std::vector<double> masses;
  for (int64_t i = 0; i < kDim; ++i) masses.push_back(1 / variances[i * kDim + i]);
  system.mass = MassMatrix::diagonal(from_vector(masses, {kDim}, device()));
  const HmcResult result = hmc_sample(system, zeros({4, kDim}, DType::kF64, device()), small_run());
  EXPECT_NEAR(result.acceptance, 0.8, 0.05);
  expect_recovered(result.samples, target);
}

TEST_P(Hmc, TheSeedDecidesTheSamples) {
  const Gaussian target(DType::kF64, device());
  const Tensor start = zeros({3, kDim}, DType::kF64, device());
  HmcOptions options = small_run();
  options.warmup = options.draws = 20;
  const HmcResult first = hmc_sample(target.system(), start, options);
  const HmcResult again = hmc_sample(target.system(), start, options);
  expect_identical(first.samples, again.samples, "same seed");
  EXPECT_EQ(first.step, again.step);
  options.seed += 1;
  EXPECT_GT(largest(first.samples - hmc_sample(target.system(), start, options).samples), 0.1);
}

TEST(HmcTuning, MeetsOtherTargetsToo) {
  const Gaussian target(DType::kF64, Device::cpu());
  Hamiltonian system = target.system();
  system.mass = MassMatrix::full(target.precision);
  for (const double goal : {0.65, 0.9}) {
    HmcOptions options = small_run();
    options.leapfrog_steps = 4;
    options.target_acceptance = goal;
    EXPECT_NEAR(hmc_sample(system, zeros({4, kDim}, DType::kF64), options).acceptance, goal, 0.05);
  }
}

// Acceptance that falls as the step grows: 1 / (1 + step) is 0.8 at 0.25.
TEST(HmcTuning, DualAveragingFindsTheStep) {
  for (const double first : {1e-4, 1.0, 100.0}) {
    DualAveraging tuning(first, 0.8);
    for (int i = 0; i < 2000; ++i) tuning.update(1 / (1 + tuning.step()));
    EXPECT_NEAR(tuning.final_step(), 0.25, 0.02) << "from " << first;
  }
}

TEST(HmcTuning, WithoutWarmUpTheStepStays) {
  const Gaussian target(DType::kF64, Device::cpu());
  HmcOptions options = small_run();
  options.warmup = 0;
  options.draws = 5;
  options.jitter = 0;
  options.step = 0.1;
  EXPECT_EQ(hmc_sample(target.system(), zeros({2, kDim}, DType::kF64), options).step, 0.1);
}

// A wall: the potential is NaN outside |q| < 2. Proposals that land there are rejected and counted.
TEST_P(Hmc, DivergencesAreRejectedAndCounted) {
  Hamiltonian system;
  system.potential = [](const Tensor& q) { return -sum(log(4.0 - sqr(q)), {-1}); };
  HmcOptions options = small_run();
  options.warmup = 0;
  options.draws = 100;
  options.step = 1.5;
  const HmcResult result = hmc_sample(system, zeros({4, 2}, DType::kF64, device()), options);
  EXPECT_GT(result.divergences, 20);
  EXPECT_LT(result.divergences, 400);
  EXPECT_LT(result.acceptance, 0.9);
  EXPECT_LT(largest(result.samples), 2);  // also false if one were NaN
  EXPECT_GT(largest(result.samples), 0.1);
}

TEST(HmcErrors, NameTheFacts) {
  const Hamiltonian system = oscillator();
  const Tensor start = zeros({2, 3}, DType::kF64);
  const auto with = [&](auto change) {
    return [&, change] {
      HmcOptions options;
      change(options);
      hmc_sample(system, start, options);
    };
  };
  const auto bad = ErrorCode::kInvalidArgument;
  expect_error(with([](HmcOptions& o) { o.warmup = -1; }), bad, "hmc_sample: warmup is -1, expected 0 or more");
  expect_error(with([](HmcOptions& o) { o.draws = 0; }), bad, "draws is 0, expected at least 1");
  expect_error(with([](HmcOptions& o) { o.leapfrog_steps = 0; }), bad, "leapfrog_steps is 0");
  expect_error(with([](HmcOptions& o) { o.jitter = 1; }), bad, "jitter is 1, expected a number in [0, 1)");
  expect_error(with([](HmcOptions& o) { o.target_acceptance = 1; }), bad, "target_acceptance is 1");
  expect_error(with([](HmcOptions& o) { o.step = -0.5; }), bad, "step is -0.5, expected a positive number");

  expect_error([&] { hmc_sample(system, zeros({3}, DType::kF64)); }, ErrorCode::kShape,
               "hmc_sample: start has shape [3], expected rank 2");
  expect_error([&] { hmc_sample(system, zeros({0, 3})); }, ErrorCode::kShape, "start [0, 3] has no chains");
  expect_error([&] { hmc_sample(system, zeros({2, 3}, DType::kF16)); }, ErrorCode::kDType, "q has dtype f16");
  Hamiltonian heavy = system;
  heavy.mass = MassMatrix::diagonal(ones({2}, DType::kF64));
  expect_error([&] { hmc_sample(heavy, start); }, ErrorCode::kShape, "a mass matrix for 2 coordinates");
  Hamiltonian no_potential;
  no_potential.gradient = system.gradient;
  expect_error([&] { hmc_sample(no_potential, start); }, bad, "the potential is empty");
  const double infinity = std::numeric_limits<double>::infinity();
  expect_error(
      [&] {
        hmc_sample(system, full({2, 3}, infinity, DType::kF64));
      },
      bad, "chain 0 starts at the potential energy inf");
  Hamiltonian broken = system;
  broken.gradient = [](const Tensor& q) { return q * NAN; };
  expect_error([&] { hmc_sample(broken, start); }, bad, "is rejected; the gradient does not belong to the potential");
}

WICK_ON_EVERY_DEVICE(Hmc);

}  // namespace
}  // namespace wick::physics
