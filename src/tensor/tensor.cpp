#include "tensor/tensor.h"

#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace wick {

void Tensor::check_access(DType wanted, bool write) const {
  if (!defined()) throw Error(ErrorCode::kInvalidArgument, "tensor: the tensor is empty (never assigned)");
  if (wanted != dtype_) throw Error(ErrorCode::kDType, cat("tensor: read as ", wanted, " but it holds ", dtype_));
  if (!device().is_host()) {
    throw Error(ErrorCode::kDevice, cat("tensor: its bytes are on ", device(), "; call to_device(cpu) first"));
  }
  if (write && storage_->read_only()) {
    throw Error(ErrorCode::kUnsupported, "tensor: its bytes belong to a read-only file; call clone() first");
  }
}

namespace {

// The whole storage on the host, so that any layout can be walked.
Tensor on_host(const Tensor& tensor) {
  if (tensor.device().is_host()) return tensor;
  const size_t bytes = tensor.storage()->bytes();
  Ref<Storage> host = Storage::allocate(bytes, Device::cpu());
  device_memory(tensor.device()).copy_to_host(tensor.device(), host->data(), tensor.storage()->data(), bytes);
  return {std::move(host), tensor.layout(), tensor.dtype()};
}

}  // namespace

template <typename T>
std::vector<T> Tensor::to_vector() const {
  if (!defined()) throw Error(ErrorCode::kInvalidArgument, "to_vector: the tensor is empty (never assigned)");
  std::vector<T> values;
  values.reserve(numel());
  const Tensor host = on_host(*this);
  if (numel() == 0) return values;
  const auto nest = merge_loops<1>(shape(), {strides()});
  visit_dtype(dtype_, [&](auto zero) {
    using Element = decltype(zero);
    const auto* base = reinterpret_cast<const Element*>(host.raw());
    for (int64_t outer = 0; outer < nest.outer_count(); ++outer) {
      const Element* row = base + nest.offsets(outer)[0];
      for (int64_t i = 0; i < nest.inner_size(); ++i) values.push_back(convert<T>(row[i * nest.inner_stride(0)]));
    }
  });
  return values;
}

template std::vector<double> Tensor::to_vector() const;
template std::vector<float> Tensor::to_vector() const;
template std::vector<int64_t> Tensor::to_vector() const;
template std::vector<int32_t> Tensor::to_vector() const;
template std::vector<uint32_t> Tensor::to_vector() const;
template std::vector<uint8_t> Tensor::to_vector() const;
template std::vector<int8_t> Tensor::to_vector() const;

double Tensor::item() const {
  if (!defined() || numel() != 1) {
    throw Error(ErrorCode::kShape,
                cat("item: expected a tensor of one element, got ", defined() ? to_string(shape()) : "an empty one"));
  }
  return to_vector<double>()[0];
}

}  // namespace wick
