#pragma once

#include <vector>

#include "tensor/tensor.h"

namespace wick {

// What a sequence carries from token to token besides keys and values: the state of recurrent and convolution layers.
// Forward passes write it in place; clone() is a point to go back to.
struct RecurrentState {
  std::vector<Tensor> tensors;  // in the model's own order

  bool empty() const { return tensors.empty(); }
  RecurrentState clone() const {
    RecurrentState copy;
    for (const Tensor& tensor : tensors) copy.tensors.push_back(tensor.clone());
    return copy;
  }
  int64_t bytes() const {
    int64_t sum = 0;
    for (const Tensor& tensor : tensors) sum += bytes_of(tensor.dtype(), tensor.numel());
    return sum;
  }
};

}  // namespace wick
