#include <cstring>

#include "ops/autograd.h"
#include "ops/check.h"
#include "ops/layers/quantize.h"
#include "ops/packed.h"

namespace wick {

Tensor Tensor::clone() const {
  check_defined("clone", *this);
  const bool packed = is_packed(dtype_);
  const Tensor source = packed ? byte_view("clone", *this) : detach();
  Tensor out = empty_like(*this);
  find_kernel("clone", device(), &KernelTable::copy)(source, packed ? byte_view("clone", out) : out);
  if (tracks(*this)) {
    record(out, "clone", {*this}, [](const Tensor& grad) -> Grads { return {grad}; });
  }
  return out;
}

Tensor Tensor::contiguous() const {
  check_defined("contiguous", *this);
  return is_contiguous() ? *this : clone();
}

Tensor Tensor::to_dtype(DType dtype) const {
  check_defined("to_dtype", *this);
  if (dtype == dtype_) return *this;
  if (is_packed(dtype)) return quantize(*this, dtype);
  Tensor out = as_dtype(*this, dtype);
  if (tracks(*this) && is_float(dtype)) {
    record(out, "to_dtype", {*this}, [from = dtype_](const Tensor& grad) -> Grads { return {as_dtype(grad, from)}; });
  }
  return out;
}

Tensor Tensor::to_device(Device target) const {
  check_defined("to_device", *this);
  if (target == device()) return *this;
  target.kernels();  // throws when this build has no such device
  const Tensor source = detach().contiguous();
  Tensor out = empty(shape(), dtype_, target);
  const size_t bytes = bytes_of(dtype_, numel());
  if (device().is_host() && target.is_host()) {
    if (bytes) std::memcpy(out.raw(), source.raw(), bytes);
  } else if (device().is_host()) {
    device_memory(target).copy_from_host(target, out.raw(), source.raw(), bytes);
  } else if (target.is_host()) {
    device_memory(device()).copy_to_host(device(), out.raw(), source.raw(), bytes);
  } else {  // between two accelerators, by way of the host
    return to_device(Device::cpu()).to_device(target);
  }
  if (tracks(*this)) {
    record(out, "to_device", {*this},
           [from = device()](const Tensor& grad) -> Grads { return {grad.to_device(from)}; });
  }
  return out;
}

}  // namespace wick
