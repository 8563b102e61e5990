#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "base/ref.h"
#include "tensor/device.h"
#include "tensor/dtype.h"
#include "tensor/grad_node.h"
#include "tensor/layout.h"
#include "tensor/storage.h"

namespace wick {

// A value: a shared handle on storage, with shape, strides, dtype and device. Copying shares the bytes. Views made by
// the ops (narrow, transpose, ...) share them too. Functions that make tensors are in tensor/create.h, everything
// that computes is in ops/.
class Tensor {
 public:
  Tensor() = default;  // holds nothing; defined() is false
  Tensor(Ref<Storage> storage, Layout layout, DType dtype)
      : storage_(std::move(storage)), layout_(std::move(layout)), dtype_(dtype) {}

  bool defined() const { return static_cast<bool>(storage_); }
  const Shape& shape() const { return layout_.shape; }
  int64_t dim(int d) const { return layout_.shape[d < 0 ? d + rank() : d]; }
  int rank() const { return layout_.shape.rank(); }
  int64_t numel() const { return layout_.shape.numel(); }
  const Layout& layout() const { return layout_; }
  const Strides& strides() const { return layout_.strides; }
  bool is_contiguous() const { return layout_.is_contiguous(); }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ ? storage_->device() : Device::cpu(); }
  const Ref<Storage>& storage() const { return storage_; }

  // The first element. Throws Error(kDType) when T is not the tensor's type, Error(kDevice) when the bytes are not on
  // the host and, for mutable_data, Error(kUnsupported) when they belong to a read-only file.
  template <typename T>
  const T* data() const {
    check_access(dtype_of<T>(), false);
    return reinterpret_cast<const T*>(raw());
  }
  template <typename T>
  T* mutable_data() const {
    check_access(dtype_of<T>(), true);
    return reinterpret_cast<T*>(raw());
  }
  // The address of the first element, unchecked: for kernels.
  std::byte* raw() const { return storage_->data() + bytes_of(dtype_, layout_.offset); }

  // The only element of a one-element tensor, converted.
  double item() const;
  // All elements in row-major order, converted; works from any device and layout.
  template <typename T>
  std::vector<T> to_vector() const;

  // The same bytes seen through another layout. Low level: unchecked and without a gradient.
  Tensor with_layout(Layout layout) const { return {storage_, std::move(layout), dtype_}; }

  // These run kernels and carry gradients; they are defined in ops/copy.cpp.
  Tensor clone() const;       // the only deep copy
  Tensor contiguous() const;  // this tensor if it is row-major already, else a copy that is
  Tensor to_dtype(DType dtype) const;
  Tensor to_device(Device device) const;

  // Gradients: see ops/autograd.h.
  bool requires_grad() const { return static_cast<bool>(grad_node_); }
  const Ref<GradNode>& grad_node() const { return grad_node_; }
  void set_grad_node(Ref<GradNode> node) { grad_node_ = std::move(node); }
  Tensor detach() const { return {storage_, layout_, dtype_}; }

 private:
  void check_access(DType wanted, bool write) const;

  Ref<Storage> storage_;
  Layout layout_;
  DType dtype_ = DType::kF32;
  Ref<GradNode> grad_node_;
};

// For people: dtype, shape and values, with the middle of large tensors left out.
std::string to_string(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace wick
