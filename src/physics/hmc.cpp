#include "physics/hmc.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/philox.h"
#include "ops/check.h"
#include "ops/compare.h"
#include "ops/rearrange.h"
#include "ops/view.h"
#include "physics/dual_averaging.h"
#include "physics/integrators.h"

namespace wick::physics {
namespace {

constexpr const char* kName = "hmc_sample";
constexpr double kDivergence = 1000;

enum Stream : uint64_t { kFirstStepStream, kMomentumStream, kLengthStream, kAcceptStream };

uint64_t seed_for(uint64_t seed, uint64_t draw, Stream stream) {
  const auto bits = philox_block(seed, draw, stream);
  return (uint64_t{bits[0]} << 32) | bits[1];
}

struct Proposal {
  Tensor q;                         // [chains, dim]
  std::vector<double> potential;    // V there, per chain
  std::vector<double> probability;  // of accepting, per chain
  int64_t divergences = 0;

  double mean_probability() const {
    return std::accumulate(probability.begin(), probability.end(), 0.0) / static_cast<double>(probability.size());
  }
};

// Where the chains are now; a copy moves on independently.
class Chains {
 public:
  Chains(const Hamiltonian& system, const Tensor& start) : system_(system), q_(start.detach()) {
    potential_ = checked_potential(kName, system.potential, q_).to_vector<double>();
    for (size_t chain = 0; chain < potential_.size(); ++chain) {
      if (std::isfinite(potential_[chain])) continue;
      throw Error(ErrorCode::kInvalidArgument,
                  cat(kName, ": chain ", chain, " starts at the potential energy ", potential_[chain]));
    }
  }

  const Tensor& q() const { return q_; }

  Proposal propose(uint64_t momentum_seed, double step, int64_t steps) const {
    const MassMatrix& mass = system_.mass;
    const Tensor p = mass.momentum_from(randn(q_.shape(), momentum_seed, q_.dtype(), q_.device()));
    const PhasePoint end = integrate(Integrator::kLeapfrog, system_, {q_, p}, step, steps);
    const auto kinetic_before = mass.kinetic_energy(p).to_vector<double>();
    const auto kinetic_after = mass.kinetic_energy(end.p).to_vector<double>();
    Proposal proposal{end.q, checked_potential(kName, system_.potential, end.q).to_vector<double>(), {}};
    for (size_t chain = 0; chain < potential_.size(); ++chain) {
      const double rise = proposal.potential[chain] + kinetic_after[chain] - potential_[chain] - kinetic_before[chain];
      const bool diverged = !std::isfinite(rise) || rise > kDivergence;
      proposal.divergences += diverged;
      proposal.probability.push_back(diverged ? 0 : std::min(1.0, std::exp(-rise)));
    }
    return proposal;
  }

  // Metropolis: each chain moves with its own probability. Returns how many moved.
  int64_t accept(const Proposal& proposal, uint64_t accept_seed) {
    const auto luck = rand({q_.dim(0)}, accept_seed, DType::kF64).to_vector<double>();
    std::vector<uint8_t> moves(luck.size());
    for (size_t chain = 0; chain < luck.size(); ++chain) {
      moves[chain] = luck[chain] < proposal.probability[chain];
      if (moves[chain]) potential_[chain] = proposal.potential[chain];
    }
    q_ = where(unsqueeze(from_vector(moves, {q_.dim(0)}, q_.device()), -1), proposal.q, q_);
    return std::count(moves.begin(), moves.end(), 1);
  }

 private:
  const Hamiltonian& system_;
  Tensor q_;
  std::vector<double> potential_;
};

void check_options(const HmcOptions& options) {
  const auto fail = [](const char* field, auto value, const char* expected) {
    return Error(ErrorCode::kInvalidArgument, cat(kName, ": ", field, " is ", value, ", expected ", expected));
  };
  if (options.warmup < 0) throw fail("warmup", options.warmup, "0 or more");
  if (options.draws < 1) throw fail("draws", options.draws, "at least 1");
  if (options.leapfrog_steps < 1) throw fail("leapfrog_steps", options.leapfrog_steps, "at least 1");
  if (!(options.jitter >= 0 && options.jitter < 1)) throw fail("jitter", options.jitter, "a number in [0, 1)");
  if (!(options.target_acceptance > 0 && options.target_acceptance < 1)) {
    throw fail("target_acceptance", options.target_acceptance, "a number between 0 and 1");
  }
  if (options.step && !(*options.step > 0 && std::isfinite(*options.step))) {
    throw fail("step", *options.step, "a positive number");
  }
}

// Doubles or halves a step until one leapfrog step is accepted about half of the time.
double first_step(const Chains& chains, uint64_t seed) {
  const auto accepts = [&](double step) {
    return chains.propose(seed_for(seed, 0, kFirstStepStream), step, 1).mean_probability() > 0.5;
  };
  constexpr double kLargest = 0x1p20, kSmallest = 0x1p-40;
  double step = 1;
  const bool grow = accepts(step);
  while (step <= kLargest && step >= kSmallest) {
    step *= grow ? 2 : 0.5;
    if (accepts(step) != grow) return step;
  }
  if (grow) return step;  // a flat potential accepts any step
  throw Error(ErrorCode::kInvalidArgument,
              cat(kName, ": even a step of ", step,
                  " is rejected; the gradient does not belong to the potential, or is not finite at the start"));
}

int64_t path_steps(const HmcOptions& options, uint64_t draw) {
  const double luck = rand({1}, seed_for(options.seed, draw, kLengthStream), DType::kF64).item();
  const auto spread = static_cast<int64_t>(options.jitter * static_cast<double>(options.leapfrog_steps));
  return options.leapfrog_steps - spread + static_cast<int64_t>(luck * static_cast<double>(2 * spread + 1));
}

}  // namespace

HmcResult hmc_sample(const Hamiltonian& system, const Tensor& start, const HmcOptions& options) {
  check_options(options);
  check_positions(kName, start);
  check_rank(kName, "start", start, 2);
  if (start.numel() == 0) throw Error(ErrorCode::kShape, cat(kName, ": start ", start.shape(), " has no chains"));
  system.mass.check_fits(kName, start);

  Chains chains(system, start);
  DualAveraging tuning(options.step ? *options.step : first_step(chains, options.seed), options.target_acceptance);
  HmcResult result{};
  std::vector<Tensor> samples;
  for (int64_t draw = 0; draw < options.warmup + options.draws; ++draw) {
    const bool warming = draw < options.warmup;
    const double step = warming ? tuning.step() : tuning.final_step();
    const Proposal proposal =
        chains.propose(seed_for(options.seed, draw, kMomentumStream), step, path_steps(options, draw));
    const int64_t moved = chains.accept(proposal, seed_for(options.seed, draw, kAcceptStream));
    if (warming) {
      tuning.update(proposal.mean_probability());
      result.warmup_divergences += proposal.divergences;
      continue;
    }
    samples.push_back(chains.q());
    result.acceptance += proposal.mean_probability() / static_cast<double>(options.draws);
    result.accepted += static_cast<double>(moved) / static_cast<double>(options.draws * start.dim(0));
    result.divergences += proposal.divergences;
  }
  result.samples = stack(samples, 0);
  result.step = tuning.final_step();
  return result;
}

}  // namespace wick::physics
