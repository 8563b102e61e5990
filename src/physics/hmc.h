#pragma once

#include <cstdint>
#include <optional>

#include "physics/hamiltonian.h"

namespace wick::physics {

struct HmcOptions {
  int64_t warmup = 500;            // draws thrown away while the step size is tuned
  int64_t draws = 1000;            // draws kept, per chain
  int64_t leapfrog_steps = 16;     // per draw
  double jitter = 0.5;             // each draw takes leapfrog_steps * (1 +- jitter) steps; 0 always takes the same
  double target_acceptance = 0.8;  // what the tuning of the step size aims at; a short warm-up ends a little above it
  std::optional<double> step;      // where the tuning starts, found by doubling or halving when empty; kept as it is
                                   // when warmup is 0
  uint64_t seed = 0;               // the same seed gives the same samples
};

struct HmcResult {
  Tensor samples;       // [draws, chains, dim]
  double acceptance;    // mean acceptance probability of the kept draws
  double accepted;      // fraction of the kept draws' proposals that were taken
  double step;          // of the kept draws, one for all chains
  int64_t divergences;  // kept draws whose energy was off by more than 1000 or not finite; they are rejected
  int64_t warmup_divergences;
};

// Hamiltonian Monte Carlo: draws from exp(-V(q)). The chains move together, each accepts on its own, and they share
// one step size. The mass matrix of the system should resemble the inverse of the covariance of q.
// Throws Error when the options or shapes do not fit, or when a chain starts at an energy that is not finite.
HmcResult hmc_sample(const Hamiltonian& system,
                     const Tensor& start,  // [chains, dim], f64 or f32
                     const HmcOptions& options = {});

}  // namespace wick::physics
