#pragma once

#include <cstdint>

#include "physics/hamiltonian.h"

namespace wick::physics {

// All are symplectic: they keep phase space volume, and their energy error stays bounded instead of growing.
enum class Integrator : uint8_t {
  kSymplecticEuler,  // order 1, not reversible: kick, then drift; one gradient per step
  kLeapfrog,         // order 2, reversible (Störmer-Verlet, kick-drift-kick); one gradient per step and one to start
  kYoshida4,         // order 4, reversible: three leapfrog steps of weights w, 1 - 2w, w; three gradients per step
};

// Follows Hamilton's equations for `steps` steps of length `step` > 0. To go back in time negate p.
// Throws Error on shapes, dtypes or devices that do not fit. Gradients flow through it when q or p are recorded and
// the potential's gradient is the caller's own function.
PhasePoint integrate(Integrator method, const Hamiltonian& system, const PhasePoint& start, double step, int64_t steps);

}  // namespace wick::physics
