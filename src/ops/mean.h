#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// The mean; integers give f64. Over the given dims (all of them when none are given).
Tensor mean(const Tensor& x, std::span<const int64_t> dims = {}, bool keepdim = false);
Tensor mean(const Tensor& x, std::initializer_list<int64_t> dims, bool keepdim = false);

}  // namespace wick
