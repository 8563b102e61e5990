#include "physics/mass_matrix.h"

#include <cmath>

#include "ops/binary.h"
#include "ops/check.h"
#include "ops/layers/matmul.h"
#include "ops/reduction.h"
#include "ops/view.h"

namespace wick::physics {
namespace {

using Matrix = std::vector<double>;  // row-major [dim, dim]

void check_mass_dtype(const char* op, const Tensor& mass) {
  check_defined(op, mass);
  if (mass.dtype() != DType::kF64 && mass.dtype() != DType::kF32) {
    throw Error(ErrorCode::kDType, cat(op, ": dtype ", mass.dtype(), ", expected f64 or f32"));
  }
}

Tensor like(const Tensor& mass, const Matrix& values) {
  return as_dtype(from_vector(values, mass.shape()), mass.dtype()).to_device(mass.device());
}

// Rounding may leave the two halves of a product like A A^T a little apart.
void check_symmetric(const char* op, const Matrix& m, int64_t dim, DType dtype) {
  const double tolerance = dtype == DType::kF64 ? 1e-9 : 1e-5;
  for (int64_t i = 0; i < dim; ++i) {
    for (int64_t j = 0; j < dim; ++j) {
      const double here = m[i * dim + j], mirror = m[j * dim + i];
      if (!std::isfinite(here)) {
        throw Error(ErrorCode::kInvalidArgument, cat(op, ": element (", i, ", ", j, ") is ", here));
      }
      const double scale = std::sqrt(std::abs(m[i * dim + i] * m[j * dim + j]));
      if (j < i && std::abs(here - mirror) > tolerance * scale) {
        throw Error(ErrorCode::kInvalidArgument, cat(op, ": not symmetric: element (", i, ", ", j, ") is ", here,
                                                     " but (", j, ", ", i, ") is ", mirror));
      }
    }
  }
}

// The lower triangular L with M = L L^T.
Matrix cholesky(const char* op, const Matrix& m, int64_t dim) {
  Matrix root(m.size(), 0);
  for (int64_t i = 0; i < dim; ++i) {
    for (int64_t j = 0; j <= i; ++j) {
      double rest = m[i * dim + j];
      for (int64_t k = 0; k < j; ++k) rest -= root[i * dim + k] * root[j * dim + k];
      if (i != j) {
        root[i * dim + j] = rest / root[j * dim + j];
      } else if (rest > 0 && std::isfinite(rest)) {
        root[i * dim + i] = std::sqrt(rest);
      } else {
        throw Error(ErrorCode::kInvalidArgument,
                    cat(op, ": not positive definite: pivot ", i, " of the Cholesky factor is ", rest));
      }
    }
  }
  return root;
}

// (L L^T)^-1, column by column: L y = e, then L^T x = y.
Matrix inverse_from_cholesky(const Matrix& root, int64_t dim) {
  Matrix inverse(root.size(), 0);
  std::vector<double> x(dim);
  for (int64_t column = 0; column < dim; ++column) {
    for (int64_t i = 0; i < dim; ++i) {
      double rest = i == column ? 1 : 0;
      for (int64_t k = 0; k < i; ++k) rest -= root[i * dim + k] * x[k];
      x[i] = rest / root[i * dim + i];
    }
    for (int64_t i = dim - 1; i >= 0; --i) {
      for (int64_t k = i + 1; k < dim; ++k) x[i] -= root[k * dim + i] * x[k];
      x[i] /= root[i * dim + i];
      inverse[i * dim + column] = x[i];
    }
  }
  return inverse;
}

Matrix transposed(const Matrix& m, int64_t dim) {
  Matrix out(m.size());
  for (int64_t i = 0; i < dim; ++i) {
    for (int64_t j = 0; j < dim; ++j) out[j * dim + i] = m[i * dim + j];
  }
  return out;
}

// Each vector of x [batch..., dim] times the matrix.
Tensor times_matrix(const Tensor& x, const Tensor& matrix) {
  return x.rank() > 1 ? matmul(x, matrix) : reshape(matmul(unsqueeze(x, 0), matrix), x.shape());
}

}  // namespace

MassMatrix MassMatrix::diagonal(const Tensor& masses) {
  constexpr const char* kName = "MassMatrix::diagonal";
  check_mass_dtype(kName, masses);
  check_rank(kName, "masses", masses, 1);
  Matrix inverse = masses.to_vector<double>(), root = inverse;
  for (size_t i = 0; i < inverse.size(); ++i) {
    if (!(inverse[i] > 0) || !std::isfinite(inverse[i])) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(kName, ": mass ", i, " is ", inverse[i], ", expected a positive number"));
    }
    root[i] = std::sqrt(inverse[i]);
    inverse[i] = 1 / inverse[i];
  }
  MassMatrix mass;
  mass.kind_ = Kind::kDiagonal;
  mass.inverse_ = like(masses, inverse);
  mass.root_ = like(masses, root);
  return mass;
}

MassMatrix MassMatrix::full(const Tensor& matrix) {
  constexpr const char* kName = "MassMatrix::full";
  check_mass_dtype(kName, matrix);
  check_rank(kName, "matrix", matrix, 2);
  const int64_t dim = matrix.dim(0);
  if (matrix.dim(1) != dim) throw Error(ErrorCode::kShape, cat(kName, ": ", matrix.shape(), " is not square"));
  const Matrix values = matrix.to_vector<double>();
  check_symmetric(kName, values, dim, matrix.dtype());
  const Matrix root = cholesky(kName, values, dim);
  MassMatrix mass;
  mass.kind_ = Kind::kFull;
  mass.inverse_ = like(matrix, inverse_from_cholesky(root, dim));
  mass.root_ = like(matrix, transposed(root, dim));
  return mass;
}

Tensor MassMatrix::velocity(const Tensor& momentum) const {
  check_fits("velocity", momentum);
  switch (kind_) {
    case Kind::kIdentity: return momentum;
    case Kind::kDiagonal: return mul(momentum, inverse_);
    case Kind::kFull: return times_matrix(momentum, inverse_);  // the inverse is symmetric
  }
  throw Error(ErrorCode::kInternal, "velocity: unknown kind of mass matrix");
}

Tensor MassMatrix::kinetic_energy(const Tensor& momentum) const {
  return mul(sum(mul(momentum, velocity(momentum)), {-1}), 0.5);
}

Tensor MassMatrix::momentum_from(const Tensor& noise) const {
  check_fits("momentum_from", noise);
  switch (kind_) {
    case Kind::kIdentity: return noise;
    case Kind::kDiagonal: return mul(noise, root_);
    case Kind::kFull: return times_matrix(noise, root_);
  }
  throw Error(ErrorCode::kInternal, "momentum_from: unknown kind of mass matrix");
}

void MassMatrix::check_fits(const char* op, const Tensor& x) const {
  check_defined(op, x);
  if (x.rank() < 1) throw Error(ErrorCode::kShape, cat(op, ": a scalar state, expected [batch..., dim]"));
  if (kind_ == Kind::kIdentity) return;
  if (inverse_.dtype() != x.dtype()) {
    throw Error(ErrorCode::kDType, cat(op, ": the state is ", x.dtype(), " but the mass matrix ", inverse_.dtype()));
  }
  check_same_device(op, {&x, &inverse_});
  if (inverse_.dim(0) != x.dim(-1)) {
    throw Error(ErrorCode::kShape,
                cat(op, ": a mass matrix for ", inverse_.dim(0), " coordinates beside a state ", x.shape()));
  }
}

}  // namespace wick::physics
