#include "physics/integrators.h"

#include <array>
#include <cmath>
#include <span>

#include "ops/binary.h"
#include "ops/check.h"

namespace wick::physics {
namespace {

// The two flows that every method is made of, each exact on its own.
class Flow {
 public:
  Flow(const Hamiltonian& system, const PhasePoint& start)
      : gradient_(checked_gradient("integrate", system)), mass_(system.mass), at_(start) {}

  void kick(double time) { at_.p = at_.p - gradient_(at_.q) * time; }
  void drift(double time) { at_.q = at_.q + mass_.velocity(at_.p) * time; }
  const PhasePoint& at() const { return at_; }

 private:
  PotentialGradient gradient_;
  MassMatrix mass_;
  PhasePoint at_;
};

// Each step is a row of leapfrog steps of these weights; where two meet, their half kicks are one.
void compose_leapfrog(Flow& flow, std::span<const double> weights, double step, int64_t steps) {
  if (steps == 0) return;
  flow.kick(weights.front() * step / 2);
  for (int64_t i = 0; i < steps; ++i) {
    for (size_t w = 0; w < weights.size(); ++w) {
      flow.drift(weights[w] * step);
      const bool last_of_step = w + 1 == weights.size(), last = last_of_step && i + 1 == steps;
      const double next = last ? 0 : weights[last_of_step ? 0 : w + 1];
      flow.kick((weights[w] + next) * step / 2);
    }
  }
}

}  // namespace

PhasePoint integrate(Integrator method, const Hamiltonian& system, const PhasePoint& start, double step,
                     int64_t steps) {
  check_phase_point("integrate", start, system.mass);
  if (!(step > 0) || !std::isfinite(step)) {
    throw Error(ErrorCode::kInvalidArgument, cat("integrate: step ", step, ", expected a positive number"));
  }
  if (steps < 0) throw Error(ErrorCode::kInvalidArgument, cat("integrate: ", steps, " steps"));
  Flow flow(system, start);
  switch (method) {
    case Integrator::kSymplecticEuler:
      for (int64_t i = 0; i < steps; ++i) {
        flow.kick(step);
        flow.drift(step);
      }
      return flow.at();
    case Integrator::kLeapfrog: compose_leapfrog(flow, std::array{1.0}, step, steps); return flow.at();
    case Integrator::kYoshida4: {
      // 2 w^3 + (1 - 2w)^3 = 0 cancels the error of order 2 (Yoshida 1990).
      const double w = 1 / (2 - std::cbrt(2.0));
      compose_leapfrog(flow, std::array{w, 1 - 2 * w, w}, step, steps);
      return flow.at();
    }
  }
  throw Error(ErrorCode::kInvalidArgument, cat("integrate: unknown method ", static_cast<int>(method)));
}

}  // namespace wick::physics
