#pragma once

#include <string>

#include "tensor/tensor.h"

namespace wick {

// A tensor of f32 on the host as the bytes of NumPy's .npy, version 1.0.
std::string npy_bytes(const Tensor& tensor);

}  // namespace wick
