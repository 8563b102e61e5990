#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// The smallest value; NaN if there is one. Equal extremes share the gradient. Over the given dims (all of them when
// none are given).
Tensor min(const Tensor& x, std::span<const int64_t> dims = {}, bool keepdim = false);
Tensor min(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim = false);

}  // namespace wick
