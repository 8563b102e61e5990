#pragma once

#include "engine/sampling/candidates.h"

namespace wick::sampling {

// Mirostat 2 (Basu et al. 2021): tokens that surprise by more than mu bits are left out, and mu follows the surprise of
// the tokens chosen, so that it averages tau bits.
struct MirostatChoice {
  int32_t token = 0;
  float surprise = 0;  // bits, among the tokens that were left
};

class Mirostat {
 public:
  MirostatChoice draw(const PeakedLogits& logits, float temperature, float mu, double uniform, Candidates& candidates);

 private:
  WeightMemory weights_;
};

inline float first_mu(float tau) { return 2 * tau; }
inline float next_mu(float mu, float tau, float eta, float surprise) { return mu - eta * (surprise - tau); }

}  // namespace wick::sampling
