#pragma once

#include "tensor/arena.h"
#include "tensor/tensor.h"

namespace wick {

// Computes with scratch memory of its own, which is used again once the result is gone: a pass needs the memory of one
// part of a layer and not of all layers.
template <typename Body>
Tensor in_scratch(const Body& body) {
  Arena* arena = Arena::current();
  if (!arena) return body();
  const ArenaScope scope(*arena);
  return body();
}

}  // namespace wick
