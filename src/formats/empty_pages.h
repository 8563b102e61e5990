#pragma once

#include "tensor/tensor.h"

namespace wick {

// Uninitialised weights of any dtype on the host, to be filled through raw(). Large ones get pages of their own instead
// of a place on the heap: a model is loaded through many buffers of many sizes, and what is freed in between would
// leave holes. To users of the tensor these bytes are read-only, like those of a mapped file.
Tensor empty_pages(const Shape& shape, DType dtype);

}  // namespace wick
