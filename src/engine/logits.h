#pragma once

#include <span>
#include <vector>

#include "engine/sampler.h"
#include "tensor/tensor.h"

namespace wick {

// Rows of logits [rows, vocabulary] where the model left them. Of a row from which the device can pick the highest, no
// more than those come to the host.
class Logits {
 public:
  // best[i]: how many of the highest logits of row i somebody needs; 0: all of them.
  Logits(Tensor logits, std::span<const int64_t> best);

  TokenLogits row(int64_t i) const;

 private:
  Tensor logits_;             // on the host, or undefined
  std::vector<Tensor> rows_;  // on the host; undefined where best_ has what is needed
  Tensor best_;               // see FusedKernels::top_logits
};

}  // namespace wick
