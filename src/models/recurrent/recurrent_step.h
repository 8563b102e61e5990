#pragma once

#include <vector>

#include "hooks/batch_hooks.h"
#include "models/forward_batch.h"
#include "ops/recurrence.h"

namespace wick {

// What all layers of one forward pass of a recurrent model share.
struct RecurrentStep {
  struct Rows {
    int64_t begin, count;
    const Tensor* state;  // the sequence's tensors, layer after layer
  };

  RecurrentStep(const ForwardBatch& batch, size_t tensors_per_layer);
  RecurrentStep(const RecurrentStep&) = delete;  // the hooks look at the positions
  RecurrentStep& operator=(const RecurrentStep&) = delete;

  const Tensor& state(const Rows& rows, int layer, size_t index) const {
    return rows.state[static_cast<size_t>(layer) * per_layer + index];
  }
  // Every sequence's rows with the layer's state tensor `index`, for ops of ops/recurrence.h.
  std::vector<StateRows> state_rows(int layer, size_t index) const;
  // causal_conv, with the history in the layer's state tensor `index`.
  Tensor convolve(const Tensor& x, const Tensor& weight, const Tensor& bias, int layer, size_t index) const;
  // Shows the layer's state tensor `index` of every sequence to its hooks, which may change it.
  void hook_state(int layer, size_t index) const;

  size_t per_layer;
  std::vector<int64_t> positions;  // of each row
  std::vector<Rows> sequences;
  BatchHooks hooks;
};

// Writes values over others, of the same shape on the same device.
void copy_values(const Tensor& from, const Tensor& to);

}  // namespace wick
