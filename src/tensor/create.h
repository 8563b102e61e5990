#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "tensor/tensor.h"

namespace wick {

// Uninitialised.
Tensor empty(const Shape& shape, DType dtype = DType::kF32, Device device = Device::cpu());
Tensor empty_like(const Tensor& like);  // same shape, dtype and device; row-major

Tensor full(const Shape& shape, double value, DType dtype = DType::kF32, Device device = Device::cpu());
Tensor zeros(const Shape& shape, DType dtype = DType::kF32, Device device = Device::cpu());
Tensor ones(const Shape& shape, DType dtype = DType::kF32, Device device = Device::cpu());
Tensor scalar(double value, DType dtype = DType::kF32, Device device = Device::cpu());  // shape []

// start, start + step, ... up to but not including end.
Tensor arange(double start, double end, double step = 1, DType dtype = DType::kF32, Device device = Device::cpu());

// Uniform on [0, 1) and standard normal. The same seed gives the same numbers on every machine, device and number of
// threads; f16, bf16 and f64 are roundings of one stream.
Tensor rand(const Shape& shape, uint64_t seed, DType dtype = DType::kF32, Device device = Device::cpu());
Tensor randn(const Shape& shape, uint64_t seed, DType dtype = DType::kF32, Device device = Device::cpu());

// A copy of `values`, which must have exactly the shape's number of elements.
template <typename T>
Tensor from_span(std::span<const T> values, const Shape& shape, Device device = Device::cpu());
template <typename T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape, Device device = Device::cpu()) {
  return from_span(std::span<const T>(values), shape, device);
}

// Nested initialisers: tensor({{1.f, 2.f}, {3.f, 4.f}}) is f32 [2, 2]. Rows must be equally long.
// The list types are spelled out because Clang 14 does not deduce T through an alias.
template <typename T>
Tensor tensor(std::initializer_list<T> values, Device device = Device::cpu());
template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<T>> values, Device device = Device::cpu());
template <typename T>
Tensor tensor(std::initializer_list<std::initializer_list<std::initializer_list<T>>> values,
              Device device = Device::cpu());

}  // namespace wick
