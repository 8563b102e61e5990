#include "physics/hamiltonian.h"

#include <gtest/gtest.h>

#include "physics/systems.h"
#include "support/compare.h"
#include "support/devices.h"
#include "support/errors.h"

namespace wick::physics {
namespace {

class HamiltonianTest : public OnEveryDevice {};

TEST_P(HamiltonianTest, EnergyAddsPotentialAndKineticEnergy) {
  const Tensor q = tensor<double>({{1.0, 2.0}, {0.0, -1.0}}, device());
  const Tensor p = tensor<double>({{3.0, 1.0}, {2.0, 0.5}}, device());
  const Potential potential = oscillator().potential;
  // V = 2.5, 0.5; p^2/2 = 5, 2.125
  expect_close(hamiltonian_energy(q, p, potential), tensor<double>({7.5, 2.625}), 1e-15, "identity");
  const MassMatrix diagonal = MassMatrix::diagonal(tensor<double>({2.0, 0.5}, device()));
  expect_close(hamiltonian_energy(q, p, potential, diagonal), tensor<double>({2.5 + 2.25 + 1, 0.5 + 1 + 0.25}), 1e-15,
               "diagonal");
  // M = [[2, 1], [1, 1]], M^-1 = [[1, -1], [-1, 2]]: p^T M^-1 p = (p0 - p1)^2 + p1^2
  const MassMatrix full = MassMatrix::full(tensor<double>({{2.0, 1.0}, {1.0, 1.0}}, device()));
  expect_close(hamiltonian_energy(q, p, potential, full), tensor<double>({2.5 + 2.5, 0.5 + 1.25}), 1e-14, "full");
  const Tensor alone = reshape(narrow(q, 0, 0, 1), {2}), alone_p = reshape(narrow(p, 0, 0, 1), {2});
  expect_close(hamiltonian_energy(alone, alone_p, potential, full), scalar(5, DType::kF64), 1e-14, "no batch");
}

TEST_P(HamiltonianTest, FullMassSolvesForTheVelocity) {
  for (const DType dtype : {DType::kF64, DType::kF32}) {
    const Tensor matrix = random_covariance(17, 3, dtype, device());
    const MassMatrix mass = MassMatrix::full(matrix);
    const Tensor p = randn({5, 17}, 4, dtype, device());
    const double tolerance = dtype == DType::kF64 ? 1e-12 : 1e-4;
    expect_close(matmul(mass.velocity(p), matrix), p, tolerance, "M (M^-1 p)");
  }
}

TEST_P(HamiltonianTest, MomentaHaveTheMassAsCovariance) {
  const int64_t count = 20000, dim = 3;
  const Tensor matrix = random_covariance(dim, 8, DType::kF64, device());
  const Tensor noise = randn({count, dim}, 9, DType::kF64, device());
  const Tensor p = MassMatrix::full(matrix).momentum_from(noise);
  // The standard error of a covariance from n draws is below 1.5 / sqrt(n) here; 4 of them.
  expect_close(matmul(transpose(p, 0, 1), p) / static_cast<double>(count), matrix, 6 / std::sqrt(count), "covariance");
  const Tensor diagonal = MassMatrix::diagonal(tensor<double>({4.0, 1.0, 0.25}, device())).momentum_from(noise);
  expect_close(diagonal, noise * tensor<double>({2.0, 1.0, 0.5}, device()), 1e-15, "diagonal");
}

TEST(HamiltonianErrors, NameTheFacts) {
  const Tensor f64 = zeros({2, 3}, DType::kF64), f32 = zeros({2, 3}), row = zeros({2}, DType::kF64);
  const Potential potential = oscillator().potential;
  const auto diagonal = [](const Tensor& masses) { return [=] { MassMatrix::diagonal(masses); }; };
  const auto full_mass = [](const Tensor& matrix) { return [=] { MassMatrix::full(matrix); }; };
  const auto bad = ErrorCode::kInvalidArgument;
  expect_error(diagonal(tensor<double>({1.0, -2.0})), bad,
               "MassMatrix::diagonal: mass 1 is -2, expected a positive number");
  expect_error(diagonal(tensor<double>({0.0})), bad, "mass 0 is 0");
  expect_error(diagonal(f64), ErrorCode::kShape, "masses has shape [2, 3], expected rank 1");
  expect_error(diagonal(zeros({3}, DType::kI64)), ErrorCode::kDType, "dtype i64");
  expect_error(diagonal(Tensor()), bad, "never assigned");
  expect_error(full_mass(f64), ErrorCode::kShape, "MassMatrix::full: [2, 3] is not square");
  expect_error(full_mass(tensor<double>({{1.0, 2.0}, {2.0, 1.0}})), bad,
               "not positive definite: pivot 1 of the Cholesky factor is -3");
  expect_error(full_mass(tensor<double>({{1.0, 0.5}, {0.1, 1.0}})), bad,
               "not symmetric: element (1, 0) is 0.1 but (0, 1) is 0.5");
  expect_error(full_mass(full({2, 2}, NAN, DType::kF64)), bad, "MassMatrix::full: element (0, 0) is nan");

  expect_error([&] { hamiltonian_energy(f64, row, potential); }, ErrorCode::kShape,
               "hamiltonian_energy: q [2, 3] and p [2] differ in shape");
  expect_error([&] { hamiltonian_energy(f64, f32, potential); }, ErrorCode::kDType, "q is f64 but p is f32");
  expect_error([&] { hamiltonian_energy(f64, f64.to_device(Device::reference()), potential); }, ErrorCode::kDevice,
               "one tensor is on cpu and another on reference");
  expect_error([&] { hamiltonian_energy(f64, f64, nullptr); }, ErrorCode::kInvalidArgument, "the potential is empty");
  expect_error([&] { hamiltonian_energy(f64, f64, [](const Tensor& q) { return sum(q); }); }, ErrorCode::kShape,
               "the potential gave energies [] for positions [2, 3], expected [2]");
  const auto narrowing = [](const Tensor& q) { return sum(q, {-1}).to_dtype(DType::kF32); };
  expect_error([&] { hamiltonian_energy(f64, f64, narrowing); }, ErrorCode::kDType, "gave f32 for f64 positions");
  const MassMatrix two = MassMatrix::diagonal(tensor<double>({1.0, 1.0}));
  expect_error([&] { hamiltonian_energy(f64, f64, potential, two); }, ErrorCode::kShape,
               "a mass matrix for 2 coordinates beside a state [2, 3]");
  expect_error([&] { hamiltonian_energy(f32, f32, potential, two); }, ErrorCode::kDType,
               "the state is f32 but the mass matrix f64");
  expect_error([&] { gradient_of(nullptr); }, ErrorCode::kInvalidArgument, "gradient_of: the potential is empty");
  expect_error([&] { gradient_of(potential)(Var(f64)); }, ErrorCode::kUnsupported, "first order only");
}

TEST(IntegrateErrors, NameTheFacts) {
  const Tensor f64 = zeros({2, 3}, DType::kF64), f32 = zeros({2, 3}), whole = zeros({2, 3}, DType::kI32);
  const auto run = [](const Hamiltonian& system, const PhasePoint& at, double step, int64_t steps) {
    return [=] { integrate(Integrator::kLeapfrog, system, at, step, steps); };
  };
  const Hamiltonian system = oscillator();
  expect_error(run(system, {f64, f64}, 0, 1), ErrorCode::kInvalidArgument, "integrate: step 0, expected a positive");
  expect_error(run(system, {f64, f64}, -0.1, 1), ErrorCode::kInvalidArgument, "step -0.1");
  expect_error(run(system, {f64, f64}, NAN, 1), ErrorCode::kInvalidArgument, "step nan");
  expect_error(run(system, {f64, f64}, 0.1, -1), ErrorCode::kInvalidArgument, "integrate: -1 steps");
  expect_error(run(system, {f64, f32}, 0.1, 1), ErrorCode::kDType, "integrate: q is f64 but p is f32");
  expect_error(run(system, {whole, whole}, 0.1, 1), ErrorCode::kDType, "q has dtype i32, expected f64 or f32");
  expect_error(run(system, {scalar(1), scalar(1)}, 0.1, 1), ErrorCode::kShape, "q is a scalar");
  expect_error(run(system, {f64, Tensor()}, 0.1, 1), ErrorCode::kInvalidArgument, "never assigned");
  expect_error(run(Hamiltonian(), {f64, f64}, 0.1, 1), ErrorCode::kInvalidArgument,
               "the Hamiltonian has neither a gradient nor a potential");
  Hamiltonian wrong;
  wrong.gradient = [](const Tensor& q) { return sum(q, {-1}); };
  expect_error(run(wrong, {f64, f64}, 0.1, 1), ErrorCode::kShape, "the gradient gave [2] for positions [2, 3]");
  wrong.gradient = [](const Tensor& q) { return q.to_dtype(DType::kF32); };
  expect_error(run(wrong, {f64, f64}, 0.1, 1), ErrorCode::kDType, "the gradient gave f32 for f64 positions");
}

WICK_ON_EVERY_DEVICE(HamiltonianTest);

}  // namespace
}  // namespace wick::physics
