#pragma once

#include "tensor/tensor.h"

namespace wick {

// A weight ready for matmul. With an input order the columns of the weight have been sorted: multiply it with
// x[:, input_order] instead of x.
struct LoadedWeight {
  Tensor weight;
  Tensor input_order;  // i64 [in]; undefined: as they come
};

}  // namespace wick
