#pragma once

#include <array>
#include <type_traits>

#include "tensor/tensor.h"

namespace wick::reference {

using Index = std::array<int64_t, kMaxRank>;

// Calls body(index) for every position of the shape in row-major order.
template <typename Body>
void for_each_index(const Shape& shape, const Body& body) {
  if (shape.numel() == 0) return;
  Index index{};
  for (;;) {
    body(index);
    int d = shape.rank() - 1;
    while (d >= 0 && ++index[d] == shape[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

inline int64_t offset_of(const Tensor& x, const Index& index) {
  int64_t offset = 0;
  for (int d = 0; d < x.rank(); ++d) offset += index[d] * x.strides()[d];
  return offset;
}

// The type a reference kernel computes in: f64 for floats, i64 for integers.
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <typename T>
Wide<T> widen(T value) {
  return convert<Wide<T>>(value);
}

// Element access by index, for one element type.
template <typename T>
class View {
 public:
  explicit View(const Tensor& x) : x_(x), data_(reinterpret_cast<T*>(x.raw())) {}
  T& operator[](const Index& index) const { return data_[offset_of(x_, index)]; }
  Wide<T> get(const Index& index) const { return widen((*this)[index]); }
  void set(const Index& index, Wide<T> value) const { (*this)[index] = convert<T>(value); }

 private:
  const Tensor& x_;
  T* data_;
};

// A float tensor of any dtype, read and written as double: for kernels that take several dtypes at once.
class FloatView {
 public:
  explicit FloatView(const Tensor& x) : x_(x) {}
  double get(const Index& index) const {
    return visit_dtype(x_.dtype(), [&](auto zero) { return convert<double>(View<decltype(zero)>(x_)[index]); });
  }
  void set(const Index& index, double value) const {
    visit_dtype(x_.dtype(), [&](auto zero) {
      const View<decltype(zero)> view(x_);
      view[index] = convert<decltype(zero)>(value);
    });
  }

 private:
  const Tensor& x_;
};

}  // namespace wick::reference
