#include "graph/numbers.h"

#include <cmath>

#include "base/thread_pool.h"
#include "graph/float8.h"

namespace wick::graph {

Error bad_input(std::string_view what) { return {ErrorCode::kInvalidArgument, std::string(what)}; }
Error not_offered(std::string_view what) { return {ErrorCode::kUnsupported, std::string(what)}; }

namespace {

// The low bits of a whole number, as the type reads them.
int64_t wrap(int64_t number, ElementType type) {
  const int bits = type == ElementType::kBool ? 8 : bits_of(type);
  if (bits >= 64) return number;
  const uint64_t mask = (uint64_t{1} << bits) - 1, low = static_cast<uint64_t>(number) & mask;
  const bool negative = !is_unsigned(type) && (low >> (bits - 1) & 1);
  return static_cast<int64_t>(negative ? low | ~mask : low);
}

}  // namespace

Value store(const Tensor& numbers, ElementType type) {
  if (is_small_float(type)) {
    Floats out{Flat<float>(numbers.clone())};
    const Tensor rounded = empty(numbers.shape());
    for (int64_t i = 0; i < out.size(); ++i) {
      rounded.mutable_data<float>()[i] = round_to_small_float(out[i], type, true);
    }
    return {rounded, type};
  }
  const DType storage = storage_of(type);
  if (numbers.dtype() == storage && (type_of(storage) == type || type == ElementType::kU64)) return {numbers, type};
  if (is_float(numbers.dtype()) || is_float(type)) return {numbers.to_dtype(storage), type};
  const Longs from(numbers);
  const Tensor wrapped = empty(numbers.shape(), DType::kI64);
  for (int64_t i = 0; i < from.size(); ++i) wrapped.mutable_data<int64_t>()[i] = wrap(from[i], type);
  return {wrapped.to_dtype(storage), type};
}

Value map_float(const Value& x, FunctionRef<double(double)> function) {
  if (!is_float(x.type())) throw Error(ErrorCode::kDType, cat(describe(x), " is not of floats"));
  const Doubles from(x.tensor());
  Doubles out(x.shape());
  double* to = out.out();
  parallel_for(from.size(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = function(from[i]);
  });
  return store(out.tensor(), x.type());
}

Value moved(const Value& x, FunctionRef<Tensor(const Tensor&)> move) {
  if (x.kind() == Value::Kind::kTensor) return {move(x.tensor()), x.type()};
  if (x.kind() != Value::Kind::kStrings)
    throw Error(ErrorCode::kDType, cat("the input is ", describe(x), ", expected a tensor"));
  Longs places(x.shape());
  for (int64_t i = 0; i < places.size(); ++i) places.out()[i] = i;
  const Longs from(move(places.tensor()));
  if (from.size() > 1 << 24) throw Error(ErrorCode::kOutOfMemory, cat(from.size(), " texts"));
  Strings out{from.shape(), {}};
  for (int64_t i = 0; i < from.size(); ++i) out.values.push_back(x.strings().values[from[i]]);
  return Value(std::move(out));
}

std::vector<int64_t> row_strides(const Shape& shape) {
  std::vector<int64_t> strides(static_cast<size_t>(shape.rank()), 1);
  for (int d = shape.rank() - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape[d + 1];
  return strides;
}

int axis_of(int64_t axis, int rank) {
  const int64_t from_front = axis < 0 ? axis + rank : axis;
  if (from_front < 0 || from_front >= rank) throw bad_input(cat("axis ", axis, " of a tensor of rank ", rank));
  return static_cast<int>(from_front);
}

int64_t outer_size(const Shape& shape, int dim) {
  int64_t size = 1;
  for (int d = 0; d < dim; ++d) size *= shape[d];
  return size;
}
int64_t inner_size(const Shape& shape, int dim) {
  int64_t size = 1;
  for (int d = dim + 1; d < shape.rank(); ++d) size *= shape[d];
  return size;
}

Shape shape_of(const std::vector<int64_t>& sizes) { return Shape(std::span<const int64_t>(sizes)); }
Tensor longs(const std::vector<int64_t>& values) {
  return from_vector(values, Shape{static_cast<int64_t>(values.size())});
}

}  // namespace wick::graph
