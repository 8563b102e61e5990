#pragma once

#include "tensor/tensor.h"

namespace wick {

// Parts the optimisers share.

// Throws Error(kInvalidArgument) "Sgd: momentum is 2, expected a number in [low, high)".
void check_option(const char* optimizer, const char* option, double value, double low, double high);

// f32 for half precision parameters, whose own dtype would lose small updates; else the parameter's dtype.
DType state_dtype(const Tensor& parameter);
// Zeros beside a parameter that live until the optimiser does, also when made inside an ArenaScope.
Tensor optimizer_state(const Tensor& parameter);
void overwrite(const Tensor& state, const Tensor& values);

}  // namespace wick
