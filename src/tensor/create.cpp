#include "tensor/create.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/checked.h"
#include "base/error.h"
#include "base/philox.h"
#include "base/text.h"
#include "base/thread_pool.h"

namespace wick {

template <typename T>
using List1 = std::initializer_list<T>;
template <typename T>
using List2 = std::initializer_list<List1<T>>;
template <typename T>
using List3 = std::initializer_list<List2<T>>;

namespace {

Tensor move_to(const Tensor& host, Device device) {
  if (host.device() == device) return host;
  Tensor out = empty(host.shape(), host.dtype(), device);
  const size_t bytes = bytes_of(host.dtype(), host.numel());
  if (device.is_host()) {
    std::memcpy(out.raw(), host.raw(), bytes);
  } else {
    device_memory(device).copy_from_host(device, out.raw(), host.raw(), bytes);
  }
  return out;
}

constexpr int64_t kPiece = 16384;  // elements a thread takes at a time

// Builds a row-major tensor by calling value(i) for each element.
template <typename Value>
Tensor generate(const Shape& shape, DType dtype, Device device, const Value& value) {
  Tensor host = empty(shape, dtype, device.is_host() ? device : Device::cpu());
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto* out = reinterpret_cast<T*>(host.raw());
    parallel_for(shape.numel(), kPiece, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = convert<T>(value(i));
    });
  });
  return move_to(host, device);
}

double unit_interval(uint32_t high, uint32_t low) {  // 53 random bits
  return static_cast<double>(((uint64_t{high} << 32) | low) >> 11) * 0x1p-53;
}

void check_float(const char* op, DType dtype) {
  if (!is_float(dtype)) throw Error(ErrorCode::kDType, cat(op, ": dtype ", dtype, " is not a floating type"));
}

}  // namespace

Tensor empty(const Shape& shape, DType dtype, Device device) {
  const int64_t weights = block_weights(dtype);
  if (weights > 1 && (shape.rank() == 0 || shape.back() % weights != 0)) {
    throw Error(ErrorCode::kShape, cat(dtype, " ", shape, ": the last dimension must be a multiple of ", weights));
  }
  const auto bytes = checked_mul(shape.numel() / weights, block_bytes(dtype));
  if (!bytes) {
    throw Error(ErrorCode::kOutOfMemory,
                cat("out of memory: ", shape, " of ", dtype, " has more bytes than fit 63 bits"));
  }
  return {Storage::allocate(*bytes, device), Layout::contiguous(shape), dtype};
}

Tensor empty_like(const Tensor& like) { return empty(like.shape(), like.dtype(), like.device()); }

Tensor full(const Shape& shape, double value, DType dtype, Device device) {
  return generate(shape, dtype, device, [value](int64_t) { return value; });
}

Tensor zeros(const Shape& shape, DType dtype, Device device) { return full(shape, 0, dtype, device); }
Tensor ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }
Tensor scalar(double value, DType dtype, Device device) { return full({}, value, dtype, device); }

Tensor arange(double start, double end, double step, DType dtype, Device device) {
  const double count = std::ceil((end - start) / step);
  if (!(step != 0) || !std::isfinite(count)) {
    throw Error(ErrorCode::kInvalidArgument, cat("arange: from ", start, " to ", end, " in steps of ", step));
  }
  const Shape shape{static_cast<int64_t>(std::clamp(count, 0.0, 9.0e18))};
  return generate(shape, dtype, device, [=](int64_t i) { return start + static_cast<double>(i) * step; });
}

Tensor rand(const Shape& shape, uint64_t seed, DType dtype, Device device) {
  check_float("rand", dtype);
  // Rounding to a narrow type must not reach 1, so the values are cut to that type's bits first.
  const double grid = dtype == DType::kF64   ? 0x1p53
                      : dtype == DType::kF32 ? 0x1p24
                      : dtype == DType::kF16 ? 0x1p11
                                             : 0x1p8;
  return generate(shape, dtype, device, [=](int64_t i) {
    const auto bits = philox_block(seed, static_cast<uint64_t>(i));
    return std::floor(unit_interval(bits[0], bits[1]) * grid) / grid;
  });
}

Tensor randn(const Shape& shape, uint64_t seed, DType dtype, Device device) {
  check_float("randn", dtype);
  return generate(shape, dtype, device, [=](int64_t i) {  // Box-Muller
    const auto bits = philox_block(seed, static_cast<uint64_t>(i));
    const double radius = std::sqrt(-2 * std::log(1 - unit_interval(bits[0], bits[1])));
    return radius * std::cos(6.283185307179586 * unit_interval(bits[2], bits[3]));
  });
}

template <typename T>
Tensor from_span(std::span<const T> values, const Shape& shape, Device device) {
  if (static_cast<int64_t>(values.size()) != shape.numel()) {
    throw Error(ErrorCode::kShape, cat("from_span: ", values.size(), " values for shape ", shape));
  }
  Tensor host = empty(shape, dtype_of<T>(), device.is_host() ? device : Device::cpu());
  if (!values.empty()) std::memcpy(host.raw(), values.data(), values.size_bytes());
  return move_to(host, device);
}

template <typename T>
Tensor tensor(List1<T> values, Device device) {
  return from_span(std::span<const T>(values.begin(), values.size()), {static_cast<int64_t>(values.size())}, device);
}

namespace {

template <typename List, typename T>
Shape flatten(const List& list, std::vector<T>& values) {
  if constexpr (std::is_same_v<List, List1<T>>) {
    values.insert(values.end(), list.begin(), list.end());
    return {static_cast<int64_t>(list.size())};
  } else {
    Shape inner;
    bool first = true;
    for (const auto& row : list) {
      const Shape shape = flatten(row, values);
      if (!first && !(shape == inner)) {
        throw Error(ErrorCode::kShape, cat("tensor: rows of different sizes, ", inner, " and ", shape));
      }
      inner = shape;
      first = false;
    }
    if (first) return {0};
    return inner.inserted(0, static_cast<int64_t>(list.size()));
  }
}

template <typename T, typename List>
Tensor from_nested(const List& list, Device device) {
  std::vector<T> values;
  const Shape shape = flatten(list, values);
  return from_vector(values, shape, device);
}

}  // namespace

template <typename T>
Tensor tensor(List2<T> values, Device device) {
  return from_nested<T>(values, device);
}

template <typename T>
Tensor tensor(List3<T> values, Device device) {
  return from_nested<T>(values, device);
}

#define WICK_INSTANTIATE(T)                                            \
  template Tensor from_span(std::span<const T>, const Shape&, Device); \
  template Tensor tensor(List1<T>, Device);                            \
  template Tensor tensor(List2<T>, Device);                            \
  template Tensor tensor(List3<T>, Device);
WICK_INSTANTIATE(double)
WICK_INSTANTIATE(float)
WICK_INSTANTIATE(int64_t)
WICK_INSTANTIATE(int32_t)
WICK_INSTANTIATE(uint32_t)
WICK_INSTANTIATE(uint8_t)
WICK_INSTANTIATE(int8_t)
#undef WICK_INSTANTIATE
template Tensor from_span(std::span<const Half>, const Shape&, Device);
template Tensor from_span(std::span<const BFloat16>, const Shape&, Device);

}  // namespace wick
