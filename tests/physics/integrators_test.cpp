#include "physics/integrators.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <numbers>

#include "physics/systems.h"
#include "support/compare.h"
#include "support/devices.h"

namespace wick::physics {
namespace {

constexpr Integrator kAll[] = {Integrator::kSymplecticEuler, Integrator::kLeapfrog, Integrator::kYoshida4};

class Integrators : public OnEveryDevice {};

// Leapfrog's energy swings by up to h^2/4 = 2.5e-5 of itself and back, twice a period: that is the method, not drift.
// Drift is what is left of it over the run: the change of the mean over whole periods, and the state's energy after the
// 1,000 steps compared with the swing's own value at that phase.
TEST_P(Integrators, EnergyOfTheOscillatorDoesNotDrift) {
  const double step = 0.01;
  const Hamiltonian system = oscillator();
  const PhasePoint start{full({1, 1}, 1, DType::kF64, device()), full({1, 1}, 0, DType::kF64, device())};
  const double initial = hamiltonian_energy(system, start).item();
  std::vector<double> energies = {initial};
  PhasePoint at = start;
  for (int i = 0; i < 1000; ++i) {
    at = integrate(Integrator::kLeapfrog, system, at, step, 1);
    energies.push_back(hamiltonian_energy(system, at).item());
  }
  // Kick-drift-kick keeps p^2 + q^2 (1 - h^2/4) exactly, so the energy is E0 + (q^2 - q0^2) h^2/8.
  const double q = at.q.item();
  EXPECT_LT(std::abs(energies.back() - initial - (q * q - 1) * step * step / 8) / initial, 1e-12);

  const auto mean_of = [&](size_t from, size_t to) {
    double total = 0;
    for (size_t i = from; i < to; ++i) total += energies[i];
    return total / static_cast<double>(to - from);
  };
  // A swing takes 314.158 steps; 314 of them are one to within 0.05 %, which moves a mean by less than 1e-8.
  const double drift = std::abs(mean_of(686, 1000) - mean_of(0, 314)) / initial;
  EXPECT_LT(drift, 1e-6);
  RecordProperty("drift_of_mean_energy", fmt::format("{:.3e}", drift));

  double swing = 0;
  for (const double energy : energies) swing = std::max(swing, std::abs(energy - initial) / initial);
  EXPECT_LT(swing, 1.01 * step * step / 4);
  // One call is the same path as a thousand.
  EXPECT_LT(distance(at, integrate(Integrator::kLeapfrog, system, start, step, 1000)), 1e-12);
}

// After whole periods the swing is back where it was, so the plain difference end - start is the drift too.
TEST_P(Integrators, EnergyReturnsAfterWholePeriods) {
  const double step = 0.01;
  const Hamiltonian system = oscillator();
  const PhasePoint start = random_point({4, 3}, 3, DType::kF64, device());
  // 16 periods of the discrete flow, whose frequency is 2/h asin(h/2), are 10,053 steps to 0.05.
  const double period = 2 * std::numbers::pi / (2 * std::asin(step / 2));
  const auto steps = static_cast<int64_t>(std::llround(16 * period));
  const PhasePoint end = integrate(Integrator::kLeapfrog, system, start, step, steps);
  const Tensor before = hamiltonian_energy(system, start), after = hamiltonian_energy(system, end);
  EXPECT_LT(largest((after - before) / before), 1e-6);
}

double error_after(Integrator method, double step, double time) {
  const PhasePoint start = {tensor<double>({{1.0, 0.3, -0.4}}), tensor<double>({{0.2, -0.8, 0.5}})};
  const auto steps = static_cast<int64_t>(std::llround(time / step));
  return distance(integrate(method, oscillator(), start, step, steps), rotated(start, time));
}

TEST(IntegratorOrder, IsOneTwoAndFourAgainstTheExactSolution) {
  const struct {
    Integrator method;
    double order;
  } cases[] = {{Integrator::kSymplecticEuler, 1}, {Integrator::kLeapfrog, 2}, {Integrator::kYoshida4, 4}};
  for (const auto& [method, order] : cases) {
    for (const double step : {0.1, 0.05}) {
      const double measured = std::log2(error_after(method, step, 2) / error_after(method, step / 2, 2));
      EXPECT_NEAR(measured, order, 0.1) << "step " << step;
      RecordProperty(fmt::format("order_{}_at_{}", order, step), fmt::format("{:.4f}", measured));
    }
  }
}

// No closed form for the pendulum: the yardstick is a path with steps 16 times finer.
TEST(IntegratorOrder, HoldsForThePendulum) {
  const PhasePoint start = {tensor<double>({{1.0, 2.0}}), tensor<double>({{0.5, -0.3}})};
  const PhasePoint exact = integrate(Integrator::kYoshida4, pendulum(), start, 0.1 / 16, 320);
  const auto order = [&](Integrator method) {
    const double coarse = distance(integrate(method, pendulum(), start, 0.1, 20), exact);
    const double fine = distance(integrate(method, pendulum(), start, 0.05, 40), exact);
    return std::log2(coarse / fine);
  };
  EXPECT_NEAR(order(Integrator::kSymplecticEuler), 1, 0.1);
  EXPECT_NEAR(order(Integrator::kLeapfrog), 2, 0.1);
  EXPECT_NEAR(order(Integrator::kYoshida4), 4, 0.1);
}

TEST_P(Integrators, ReversibleMethodsReturnToTheStart) {
  const PhasePoint start = random_point({5, 3}, 11, DType::kF64, device());
  for (const Integrator method : {Integrator::kLeapfrog, Integrator::kYoshida4}) {
    const PhasePoint end = integrate(method, pendulum(), start, 0.1, 200);
    EXPECT_GT(distance(end, start), 0.1);
    const PhasePoint back = integrate(method, pendulum(), {end.q, -end.p}, 0.1, 200);
    EXPECT_LT(distance({back.q, -back.p}, start), 1e-12);
  }
}

// The Jacobian J of a step, by central differences, must satisfy J^T S J = S with S = [[0, 1], [-1, 0]]; a
// determinant of 1 follows. Systems of two coupled coordinates, with every kind of mass.
TEST(IntegratorGeometry, EveryStepIsSymplectic) {
  Hamiltonian system;
  system.gradient = [](const Tensor& q) {  // V = cos(q0 - q1) + q0^4 / 4
    const Tensor q0 = narrow(q, -1, 0, 1), q1 = narrow(q, -1, 1, 1);
    return concat({-sin(q0 - q1) + pow(q0, 3.0), sin(q0 - q1)}, -1);
  };
  const MassMatrix masses[] = {MassMatrix(), MassMatrix::diagonal(tensor<double>({0.5, 2.0})),
                               MassMatrix::full(tensor<double>({{2.0, 0.5}, {0.5, 1.0}}))};
  const double base[4] = {0.7, -0.4, 0.3, 0.9}, h = 1e-5;
  std::vector<double> q, p;  // one row per shifted state: +x0, -x0, +x1, ...
  for (int row = 0; row < 8; ++row) {
    for (int i = 0; i < 4; ++i) (i < 2 ? q : p).push_back(base[i] + (i == row / 2 ? (row % 2 ? -h : h) : 0));
  }
  for (const Integrator method : kAll) {
    for (const MassMatrix& mass : masses) {
      system.mass = mass;
      const PhasePoint end = integrate(method, system, {from_vector(q, {8, 2}), from_vector(p, {8, 2})}, 0.3, 1);
      const Tensor rows = concat({end.q, end.p}, 1);  // [8, 4]
      std::vector<Tensor> columns;
      for (int i = 0; i < 4; ++i) {
        columns.push_back((narrow(rows, 0, 2 * i, 1) - narrow(rows, 0, 2 * i + 1, 1)) / (2 * h));
      }
      const Tensor transposed_jacobian = concat(columns, 0);
      const Tensor form = tensor<double>({{0, 0, 1, 0}, {0, 0, 0, 1}, {-1, 0, 0, 0}, {0, -1, 0, 0}});
      const Tensor kept = matmul(matmul(transposed_jacobian, form), transpose(transposed_jacobian, 0, 1));
      expect_close(kept, form, 1e-8, "J^T S J");
    }
  }
}

TEST(IntegratorGeometry, DeterminantOfAStepIsOne) {
  const double h = 1e-5;
  const PhasePoint shifted = {from_vector<double>({0.7 + h, 0.7 - h, 0.7, 0.7}, {4, 1}),
                              from_vector<double>({0.3, 0.3, 0.3 + h, 0.3 - h}, {4, 1})};
  for (const Integrator method : kAll) {
    const PhasePoint end = integrate(method, pendulum(), shifted, 0.4, 1);
    const auto q = end.q.to_vector<double>(), p = end.p.to_vector<double>();
    const double determinant = ((q[0] - q[1]) * (p[2] - p[3]) - (q[2] - q[3]) * (p[0] - p[1])) / (4 * h * h);
    EXPECT_NEAR(determinant, 1, 1e-8);
  }
}

TEST_P(Integrators, ABatchEqualsEachSystemAlone) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    Hamiltonian system = pendulum();
    system.mass = MassMatrix::full(random_covariance(3, 5, dtype, device()));
    const PhasePoint start = random_point({2, 3, 3}, 21, dtype, device());
    for (const Integrator method : kAll) {
      const PhasePoint together = integrate(method, system, start, 0.05, 30);
      ASSERT_EQ(together.q.dtype(), dtype);
      for (int64_t i = 0; i < 2; ++i) {
        for (int64_t j = 0; j < 3; ++j) {
          const auto pick = [&](const Tensor& x) { return reshape(narrow(narrow(x, 0, i, 1), 1, j, 1), {3}); };
          const PhasePoint alone = integrate(method, system, {pick(start.q), pick(start.p)}, 0.05, 30);
          expect_identical(alone.q, pick(together.q), "q");
          expect_identical(alone.p, pick(together.p), "p");
        }
      }
    }
  }
}

TEST_P(Integrators, SinglePrecisionFollowsDoublePrecision) {
  const PhasePoint start = random_point({6, 5}, 31, DType::kF64, device());
  const PhasePoint narrowed = {start.q.to_dtype(DType::kF32), start.p.to_dtype(DType::kF32)};
  for (const Integrator method : kAll) {
    const PhasePoint fine = integrate(method, pendulum(), start, 0.05, 100);
    const PhasePoint coarse = integrate(method, pendulum(), narrowed, 0.05, 100);
    ASSERT_EQ(coarse.p.dtype(), DType::kF32);
    expect_close(coarse.q, fine.q, 2e-4, "q");
    expect_close(coarse.p, fine.p, 2e-4, "p");
  }
}

TEST_P(Integrators, AutogradGivesTheSameForceAsTheGradientByHand) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    Hamiltonian by_autograd = pendulum();
    by_autograd.gradient = nullptr;
    const PhasePoint start = random_point({4, 3}, 41, dtype, device());
    const double tolerance = dtype == DType::kF64 ? 1e-12 : 1e-5;
    expect_close(gradient_of(by_autograd.potential)(start.q), sin(start.q), tolerance, "force");
    const NoGrad no_grad;  // the caller's choice for its own ops does not matter
    const PhasePoint a = integrate(Integrator::kLeapfrog, by_autograd, start, 0.05, 50);
    const PhasePoint b = integrate(Integrator::kLeapfrog, pendulum(), start, 0.05, 50);
    expect_close(a.q, b.q, tolerance, "q");
    expect_close(a.p, b.p, tolerance, "p");
    EXPECT_FALSE(a.q.requires_grad());
  }
}

TEST(IntegratorGradients, FlowThroughThePath) {
  const Var q(tensor<double>({{0.4, -0.2}}));
  const Tensor p = tensor<double>({{0.1, 0.6}});
  const auto final_q = [&](const Tensor& from) {
    return sum(integrate(Integrator::kLeapfrog, pendulum(), {from, p}, 0.1, 10).q);
  };
  const auto slope = backward(final_q(q)).of(q).to_vector<double>();
  for (int i = 0; i < 2; ++i) {
    const Tensor shift = i ? tensor<double>({{0.0, 1e-5}}) : tensor<double>({{1e-5, 0.0}});
    const Tensor middle = q.tensor().detach();
    EXPECT_NEAR(slope[i], (final_q(middle + shift).item() - final_q(middle - shift).item()) / 2e-5, 1e-8);
  }
}

WICK_ON_EVERY_DEVICE(Integrators);

}  // namespace
}  // namespace wick::physics
