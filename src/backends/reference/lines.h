#pragma once

#include "backends/reference/walk.h"

namespace wick::reference {

// Calls body(index) for each line along `dim`, with index[dim] == 0.
template <typename Body>
void for_each_line(const Shape& shape, int dim, const Body& body) {
  if (shape[dim] > 0) for_each_index(shape.with(dim, 1), body);
}

inline Index moved(Index index, int dim, int64_t position) {
  index[dim] = position;
  return index;
}

}  // namespace wick::reference
