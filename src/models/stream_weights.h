#pragma once

#include "nn/linear.h"
#include "nn/norm.h"

namespace wick {

// How logits are read off the residual stream: cap(scale * head(norm(x))). What it points to lives as long as the
// model.
struct StreamReader {
  const Norm* norm = nullptr;
  const Linear* head = nullptr;
  float scale = 1;
  float soft_cap = 0;  // logits become cap * tanh(logit / cap); 0: they stay
};

// How a part of a layer writes to the residual stream: scale * norm(linear(x)).
struct StreamWriter {
  const Linear* linear = nullptr;  // null: the part does not end in one product
  const Norm* norm = nullptr;      // null: none
  float scale = 1;
  int64_t heads = 0;  // that share the linear's inputs evenly; 0: it has none
};

}  // namespace wick
