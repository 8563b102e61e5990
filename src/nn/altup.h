#pragma once

#include <vector>

#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

// Alternating updates of Gemma 3n: the residual stream is there several times over, a layer computes with one copy, and
// what it makes of that one is guessed for the others. Streams are [tokens, copies, hidden].
struct AltUp {
  int64_t copies = 0;
  int64_t active = 0;  // the copy that layers compute with
  Norm router_norm;    // its weight divided by `hidden`
  Linear router;       // [copies, hidden]
  Linear prediction;   // [copies * copies, copies]
  Linear correction;   // [copies, copies]
  Tensor scale;        // f32 [hidden]: of the active copy on its way to the layer's own input; undefined: none

  // The active copy, [tokens, hidden].
  Tensor active_of(const Tensor& stream) const;
  Tensor with_active(const Tensor& stream, const Tensor& copy) const;

  // What the layer's input is expected to be.
  Tensor predict(const Tensor& stream) const;
  // The stream behind the layer, which has made `output` [tokens, hidden] of the active copy of `predicted`.
  Tensor correct(const Tensor& predicted, const Tensor& output) const;
  // The active copy of a corrected stream, scaled.
  Tensor scaled(const Tensor& corrected) const;
  // `addend` [tokens, hidden] added to all copies but the first.
  Tensor add_behind_first(const Tensor& corrected, const Tensor& addend) const;

 private:
  Tensor modalities(const Tensor& copy) const;  // [tokens, copies]
};

// How the copies begin and end: each but the first is a projection, as large as the first.
struct AltUpEnds {
  std::vector<Linear> expand, join;  // [hidden, hidden], copies - 1 of each

  bool present() const { return !expand.empty(); }
  Tensor expanded(const Tensor& x) const;     // [tokens, hidden] -> [tokens, copies, hidden]
  Tensor joined(const Tensor& stream) const;  // and back, their mean
};

}  // namespace wick
