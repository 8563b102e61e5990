#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace wick {

// A tensor of f32 on the host as the bytes of NumPy's .npy, version 1.0.
std::string npy_bytes(const Tensor& tensor);
// Of elements of any type of NumPy's, "<i8" and the like.
std::string npy_bytes(std::string_view type, const Shape& shape, std::span<const std::byte> elements);

}  // namespace wick
