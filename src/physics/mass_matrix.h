#pragma once

#include "tensor/tensor.h"

namespace wick::physics {

// The M of the kinetic energy 1/2 p^T M^-1 p: the identity, a diagonal or a full matrix. A value; copies share.
// Momenta are [batch..., dim] in the mass's dtype and on its device.
class MassMatrix {
 public:
  MassMatrix() = default;                            // the identity, for any dim
  static MassMatrix diagonal(const Tensor& masses);  // [dim], f32 or f64, all positive
  static MassMatrix full(const Tensor& matrix);      // [dim, dim], f32 or f64, symmetric positive definite

  Tensor velocity(const Tensor& momentum) const;        // M^-1 p
  Tensor kinetic_energy(const Tensor& momentum) const;  // 1/2 p^T M^-1 p: [batch...]
  // Momenta distributed as N(0, M), made from standard normal noise of the same shape.
  Tensor momentum_from(const Tensor& noise) const;

  // Throws Error naming the op unless states like x [batch..., dim] can have this mass.
  void check_fits(const char* op, const Tensor& x) const;

 private:
  enum class Kind { kIdentity, kDiagonal, kFull };
  Kind kind_ = Kind::kIdentity;
  Tensor inverse_;  // [dim] or [dim, dim]
  Tensor root_;     // diagonal: sqrt(M) [dim]; full: L^T [dim, dim] where M = L L^T, so that noise L^T has covariance M
};

}  // namespace wick::physics
