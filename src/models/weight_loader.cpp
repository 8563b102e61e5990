#include "models/weight_loader.h"

#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/convert_weight.h"
#include "tensor/arena.h"

namespace wick {
namespace {

Tensor as_f32(const Tensor& x) { return x.dtype() == DType::kF32 ? x.contiguous() : convert_tensor(x, DType::kF32); }

void check_finite(const Tensor& x, const std::string& name) {
  const float* values = x.data<float>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(ErrorCode::kBadFile, cat("tensor '", name, "' has ", values[i], " at index ", i));
    }
  }
}

}  // namespace

WeightLoader::WeightLoader(const WeightSource& source, const ModelOptions& options)
    : source_(&source),
      plan_(QuantizePlan::named(options.quantize)),
      device_(options.device),
      progress_(options.progress) {}

LoadedWeight WeightLoader::load(const std::string& full_name, const Shape& shape, bool transposed) {
  if (is_listing()) {
    wanted_.push_back({full_name, shape});
    return {};
  }
  LoadedWeight loaded = transposed ? source_->get(full_name) : load_weight(*source_, full_name, plan_);
  Tensor& weight = loaded.weight;
  if (transposed && weight.rank() == 2) {
    weight = weight.with_layout(weight.layout().transpose(0, 1));
    const DType dtype = plan_.choose_one({full_name, weight.shape(), weight.dtype()}, plan_facts(*source_), false);
    if (dtype != weight.dtype()) weight = convert_tensor(weight.contiguous(), dtype);
  }
  if (!(weight.shape() == shape)) {
    throw Error(ErrorCode::kBadFile,
                cat("tensor '", full_name, "' is ", weight.shape(), ", but the settings make it ", shape));
  }
  count(weight);
  return loaded;
}

void WeightLoader::count(const Tensor& tensor) {
  parameters_ += tensor.numel();
  bytes_ += bytes_of(tensor.dtype(), tensor.numel());
  if (progress_) progress_(std::min(bytes_, total_), total_);
}

Linear WeightLoader::linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias, bool transposed) {
  const ArenaPause keep;
  LoadedWeight loaded = load(name + ".weight", {outputs, inputs}, transposed);
  Linear linear;
  if (bias) linear.bias = vector(name + ".bias", {outputs});
  if (is_listing()) return linear;
  linear.weight = loaded.weight.to_device(device_);
  if (loaded.input_order.defined()) linear.input_order = loaded.input_order.to_device(device_);
  if (offered_) {
    linear.adapters = std::make_shared<LinearAdapters>();
    offered_->emplace_back(name, linear);
  }
  return linear;
}

Tensor WeightLoader::table(const std::string& name, int64_t rows, int64_t columns) {
  const ArenaPause keep;
  LoadedWeight loaded = load(name + ".weight", {rows, columns}, false);
  return is_listing() ? Tensor() : in_natural_order(loaded).to_device(device_);
}

Tensor WeightLoader::vector(const std::string& full_name, const Shape& shape) {
  const ArenaPause keep;
  if (is_listing()) {
    wanted_.push_back({full_name, shape});
    return {};
  }
  const Tensor stored = source_->get(full_name).weight;
  if (stored.numel() != shape.numel()) {
    throw Error(ErrorCode::kBadFile,
                cat("tensor '", full_name, "' is ", stored.shape(), ", but the settings make it ", shape));
  }
  const Tensor values = as_f32(stored);
  check_finite(values, full_name);
  count(values);
  return values.with_layout(Layout{shape, Layout::contiguous(shape).strides, values.layout().offset})
      .to_device(device_);
}

Norm WeightLoader::norm(const std::string& name, NormKind kind, int64_t size, float eps, bool weights, bool bias,
                        float offset) {
  Norm norm;
  norm.kind = kind;
  norm.eps = eps;
  if (!weights) return norm;
  norm.weight = vector(name + ".weight", {size});
  if (bias && kind == NormKind::kLayer) norm.bias = vector(name + ".bias", {size});
  if (offset != 0 && norm.weight.defined()) {
    const ArenaPause keep;
    Tensor shifted = norm.weight.to_device(Device::cpu()).clone();
    float* values = shifted.mutable_data<float>();
    for (int64_t i = 0; i < size; ++i) values[i] += offset;
    norm.weight = shifted.to_device(device_);
  }
  return norm;
}

}  // namespace wick
