#include "physics/hamiltonian.h"

#include "ops/autograd.h"
#include "ops/binary.h"
#include "ops/check.h"

namespace wick::physics {

PotentialGradient gradient_of(Potential potential) {
  if (!potential) throw Error(ErrorCode::kInvalidArgument, "gradient_of: the potential is empty");
  return [potential = std::move(potential)](const Tensor& q) {
    check_positions("gradient_of", q);
    if (tracks(q)) {
      throw Error(ErrorCode::kUnsupported,
                  "gradient_of: q is being recorded, and gradients are first order only; detach q, or give the "
                  "gradient as a function of its own to differentiate through it");
    }
    const EnableGrad recording;
    const Var position(q);
    const Tensor energy = checked_potential("gradient_of", potential, position);
    if (!energy.requires_grad()) return zeros(q.shape(), q.dtype(), q.device());  // a constant potential
    const Tensor gradient = backward(energy, ones(energy.shape(), energy.dtype(), energy.device())).of(position);
    return gradient.defined() ? gradient : zeros(q.shape(), q.dtype(), q.device());
  };
}

Tensor hamiltonian_energy(const Tensor& q, const Tensor& p, const Potential& potential, const MassMatrix& mass) {
  constexpr const char* kName = "hamiltonian_energy";
  check_phase_point(kName, {q, p}, mass);
  return add(checked_potential(kName, potential, q), mass.kinetic_energy(p));
}

void check_positions(const char* op, const Tensor& q) {
  check_defined(op, q);
  if (q.dtype() != DType::kF64 && q.dtype() != DType::kF32) {
    throw Error(ErrorCode::kDType, cat(op, ": q has dtype ", q.dtype(), ", expected f64 or f32"));
  }
  if (q.rank() < 1) throw Error(ErrorCode::kShape, cat(op, ": q is a scalar, expected [batch..., dim]"));
}

void check_phase_point(const char* op, const PhasePoint& at, const MassMatrix& mass) {
  check_positions(op, at.q);
  check_defined(op, at.p);
  if (!(at.q.shape() == at.p.shape())) {
    throw Error(ErrorCode::kShape, cat(op, ": q ", at.q.shape(), " and p ", at.p.shape(), " differ in shape"));
  }
  if (at.q.dtype() != at.p.dtype()) {
    throw Error(ErrorCode::kDType, cat(op, ": q is ", at.q.dtype(), " but p is ", at.p.dtype()));
  }
  check_same_device(op, {&at.q, &at.p});
  mass.check_fits(op, at.q);
}

Tensor checked_potential(const char* op, const Potential& potential, const Tensor& q) {
  if (!potential) throw Error(ErrorCode::kInvalidArgument, cat(op, ": the potential is empty"));
  Tensor energy = potential(q);
  check_defined(op, energy);
  const Shape batch = q.shape().without(q.rank() - 1);
  if (!(energy.shape() == batch)) {
    throw Error(ErrorCode::kShape, cat(op, ": the potential gave energies ", energy.shape(), " for positions ",
                                       q.shape(), ", expected ", batch));
  }
  if (energy.dtype() != q.dtype()) {
    throw Error(ErrorCode::kDType, cat(op, ": the potential gave ", energy.dtype(), " for ", q.dtype(), " positions"));
  }
  check_same_device(op, {&q, &energy});
  return energy;
}

PotentialGradient checked_gradient(const char* op, const Hamiltonian& system) {
  if (!system.gradient && !system.potential) {
    throw Error(ErrorCode::kInvalidArgument, cat(op, ": the Hamiltonian has neither a gradient nor a potential"));
  }
  return [op, gradient = system.gradient ? system.gradient : gradient_of(system.potential)](const Tensor& q) {
    Tensor slope = gradient(q);
    check_defined(op, slope);
    if (!(slope.shape() == q.shape())) {
      throw Error(ErrorCode::kShape, cat(op, ": the gradient gave ", slope.shape(), " for positions ", q.shape()));
    }
    if (slope.dtype() != q.dtype()) {
      throw Error(ErrorCode::kDType, cat(op, ": the gradient gave ", slope.dtype(), " for ", q.dtype(), " positions"));
    }
    check_same_device(op, {&q, &slope});
    return slope;
  };
}

}  // namespace wick::physics
