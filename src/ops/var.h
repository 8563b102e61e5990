#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// The variance, divided by count - correction: 0 takes the values as the whole population (the default, as in NumPy),
// 1 estimates from a sample. Over the given dims (all of them when none are given).
Tensor var(const Tensor& x, std::span<const int64_t> dims = {}, int64_t correction = 0, bool keepdim = false);
Tensor var(const Tensor& x, std::initializer_list<int64_t> dims, int64_t correction = 0, bool keepdim = false);

}  // namespace wick
