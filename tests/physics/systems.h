#pragma once

#include <cmath>

#include "ops/ops.h"
#include "physics/integrators.h"
#include "tensor/create.h"

namespace wick::physics {

// V = 1/2 q^2 in each coordinate: with unit mass every point circles the origin once in 2 pi.
inline Hamiltonian oscillator() {
  Hamiltonian system;
  system.potential = [](const Tensor& q) { return sum(sqr(q), {-1}) * 0.5; };
  system.gradient = [](const Tensor& q) { return q; };
  return system;
}

// V = sum(1 - cos q): not linear, so no method is exact by luck.
inline Hamiltonian pendulum() {
  Hamiltonian system;
  system.potential = [](const Tensor& q) { return sum(1.0 - cos(q), {-1}); };
  system.gradient = [](const Tensor& q) { return sin(q); };
  return system;
}

// The oscillator's exact state after `time`.
inline PhasePoint rotated(const PhasePoint& start, double time) {
  const double c = std::cos(time), s = std::sin(time);
  return {start.q * c + start.p * s, start.p * c - start.q * s};
}

inline double largest(const Tensor& x) { return max(abs(x)).item(); }

// How far apart two states are.
inline double distance(const PhasePoint& a, const PhasePoint& b) {
  return std::max(largest(a.q - b.q), largest(a.p - b.p));
}

// A batch of states with energies of order 1.
inline PhasePoint random_point(const Shape& shape, uint64_t seed, DType dtype, Device device) {
  return {randn(shape, seed, dtype, device), randn(shape, seed + 1, dtype, device)};
}

// A symmetric positive definite [dim, dim] matrix with correlations.
inline Tensor random_covariance(int64_t dim, uint64_t seed, DType dtype, Device device) {
  const Tensor root = randn({dim, dim}, seed, DType::kF64) * (0.7 / std::sqrt(static_cast<double>(dim)));
  std::vector<double> identity(dim * dim, 0);
  for (int64_t i = 0; i < dim; ++i) identity[i * dim + i] = 0.3;
  return (matmul(root, transpose(root, 0, 1)) + from_vector(identity, {dim, dim})).to_dtype(dtype).to_device(device);
}

}  // namespace wick::physics
