#pragma once

#include <span>
#include <vector>

#include "hooks/batch_hooks.h"
#include "ops/layers/recurrence.h"

namespace wick {

// The rows of one sequence among those of a batch, and all that it carries from pass to pass.
struct SequenceState {
  int64_t begin, count;
  const Tensor* tensors;
};

// What a recurrent mixer needs to know of the rows it is given.
struct MixerStep {
  std::span<const SequenceState> sequences;
  std::span<const int64_t> positions;  // of each row
  const BatchHooks& hooks;
  int layer = 0;
  size_t first = 0;  // which of a sequence's tensors is the mixer's first one

  Tensor hook(HookPoint point, const Tensor& x) const { return hooks(point, layer, x); }
  const Tensor& state(const SequenceState& of, size_t index) const { return of.tensors[first + index]; }
  // Every sequence's rows with the mixer's tensor `index`, for ops of ops/layers/recurrence.h.
  std::vector<StateRows> rows(size_t index) const;
  // Shows the mixer's tensor `index` of every sequence to its hooks, which may change it.
  void hook_state(size_t index) const;
};

// A part of a layer that carries a fixed state from token to token. Immutable once loaded.
class RecurrentMixer {
 public:
  virtual ~RecurrentMixer() = default;

  // Of the tensors, all f32, that a sequence carries.
  virtual std::vector<Shape> state_shapes() const = 0;
  // Writes what they are before the first token, where that is not zero; `state` has one for each shape.
  virtual void begin(std::span<const Tensor> /*state*/) const {}
  // What the layer adds to the residual stream for x [rows, hidden], the normed stream.
  virtual Tensor operator()(const Tensor& x, const MixerStep& step) const = 0;
};

// Writes values over others, of the same shape on the same device.
void copy_values(const Tensor& from, const Tensor& to);

// Files hold filters as [channels, taps]; undefined stays undefined.
Tensor taps_first(const Tensor& filters);

}  // namespace wick
