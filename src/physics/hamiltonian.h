#pragma once

#include <functional>

#include "physics/mass_matrix.h"

namespace wick::physics {

using Potential = std::function<Tensor(const Tensor& q)>;          // [batch..., dim] -> [batch...]
using PotentialGradient = std::function<Tensor(const Tensor& q)>;  // [batch..., dim] -> dV/dq [batch..., dim]

// The gradient of a potential by autograd. Each energy may depend only on its own row of q. Gradients are first order,
// so calling the result on a q that is itself part of a recorded computation throws Error(kUnsupported).
PotentialGradient gradient_of(Potential potential);

// H(q, p) = V(q) + 1/2 p^T M^-1 p.
struct Hamiltonian {
  Potential potential;         // V; may stay empty when only integrate() is wanted and a gradient is given
  PotentialGradient gradient;  // dV/dq; gradient_of(potential) when empty
  MassMatrix mass;             // the identity unless set
};

// Positions and momenta of a batch of systems: both [batch..., dim], f64 or f32, on one device.
struct PhasePoint {
  Tensor q, p;
};

// H of each system: [batch...].
Tensor hamiltonian_energy(const Tensor& q, const Tensor& p, const Potential& potential, const MassMatrix& mass = {});
inline Tensor hamiltonian_energy(const Hamiltonian& system, const PhasePoint& at) {
  return hamiltonian_energy(at.q, at.p, system.potential, system.mass);
}

// --- For the integrators and samplers ---

// Each throws Error whose message starts with the op's name.
void check_positions(const char* op, const Tensor& q);
void check_phase_point(const char* op, const PhasePoint& at, const MassMatrix& mass);
// V(q), checked to be one energy per system.
Tensor checked_potential(const char* op, const Potential& potential, const Tensor& q);
// The given gradient or the potential's, with every result checked against q.
PotentialGradient checked_gradient(const char* op, const Hamiltonian& system);

}  // namespace wick::physics
