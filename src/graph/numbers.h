#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/function_ref.h"
#include "graph/value.h"
#include "tensor/create.h"

namespace wick::graph {

// For plain loops: row-major copies of tensors in a type that holds their numbers, and back.

// A row-major tensor of T and its elements.
template <typename T>
class Flat {
 public:
  explicit Flat(const Tensor& x) : tensor_(x.to_dtype(dtype_of<T>()).contiguous()) {}
  explicit Flat(const Shape& shape) : tensor_(empty(shape, dtype_of<T>())), is_new_(true) {}

  const Tensor& tensor() const { return tensor_; }
  const Shape& shape() const { return tensor_.shape(); }
  int64_t size() const { return tensor_.numel(); }
  const T& operator[](int64_t i) const { return tensor_.template data<T>()[i]; }
  const T* data() const { return reinterpret_cast<const T*>(tensor_.raw()); }
  T* out() { return tensor_.template mutable_data<T>(); }

 private:
  Tensor tensor_;
  bool is_new_ = false;
};
using Doubles = Flat<double>;
using Floats = Flat<float>;
using Longs = Flat<int64_t>;

// Numbers as a tensor of a type: floats are rounded, whole numbers keep their low bits as C++ does.
Value store(const Tensor& numbers, ElementType type);

// One after the other in row-major order; the result has the type of x.
Value map_float(const Value& x, FunctionRef<double(double)> function);

// What only moves elements, done to a value: texts move as their places do.
Value moved(const Value& x, FunctionRef<Tensor(const Tensor&)> move);

// The strides of a row-major tensor.
std::vector<int64_t> row_strides(const Shape& shape);
// A dimension counted from the front. Throws Error naming the axis.
int axis_of(int64_t axis, int rank);
// Products of sizes before a dimension, and behind it.
int64_t outer_size(const Shape& shape, int dim);
int64_t inner_size(const Shape& shape, int dim);
Shape shape_of(const std::vector<int64_t>& sizes);
Tensor longs(const std::vector<int64_t>& values);  // [n]

Error bad_input(std::string_view what);    // kInvalidArgument
Error not_offered(std::string_view what);  // kUnsupported

}  // namespace wick::graph
