#include "models/adapter_slots.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/convert_weight.h"
#include "formats/fused_weights.h"
#include "nn/adapters.h"
#include "tensor/arena.h"
#include "tensor/create.h"

namespace wick {
namespace {

constexpr std::string_view kWeight = ".weight";

// The lengths of the rows of W + scale * b a.
std::vector<double> row_lengths(const Linear& linear, const LoraModule& module, double scale) {
  const Tensor host = linear.weight.to_device(Device::cpu());
  const Tensor order = linear.input_order.defined() ? linear.input_order.to_device(Device::cpu()) : Tensor();
  const Tensor weight = convert_tensor(in_natural_order({host, order}), DType::kF32).contiguous();
  const int64_t out = weight.dim(0), in = weight.dim(1), rank = module.rank();
  std::vector<double> lengths(static_cast<size_t>(out)), row(static_cast<size_t>(in));
  const float *w = weight.data<float>(), *a = module.a.data<float>(), *b = module.b.data<float>();
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) row[static_cast<size_t>(i)] = w[o * in + i];
    for (int64_t r = 0; r < rank; ++r) {
      const double part = scale * b[o * rank + r];
      for (int64_t i = 0; i < in; ++i) row[static_cast<size_t>(i)] += part * a[r * in + i];
    }
    double sum = 0;
    for (const double value : row) sum += value * value;
    lengths[static_cast<size_t>(o)] = std::sqrt(sum);
  }
  return lengths;
}

// The part of a module that changes a fused weight which this model keeps apart.
LoraModule part_of(const LoraModule& module, const FusedPart& part, const HeadCounts& counts) {
  LoraModule own = module;
  own.b = take_part(module.b, part.rows, part.index, counts, module.name).contiguous();
  if (module.magnitude.defined()) {
    own.magnitude = take_part(module.magnitude, part.rows, part.index, counts, module.name).contiguous();
  }
  return own;
}

}  // namespace

void AdapterSlots::offer(const std::string& name, Linear& linear) {
  if (!linear.defined()) return;
  linear.adapters = std::make_shared<LinearAdapters>();
  linears_[name] = linear;
}

void AdapterSlots::take(const std::string& name, const Linear& linear) {
  if (linear.defined() && linear.adapters) linears_[name] = linear;
}

void AdapterSlots::add_to(const Linear& linear, const LoraModule& module, float scale, int64_t number) {
  if (module.a.dim(1) != linear.inputs() || module.b.dim(0) != linear.outputs()) {
    throw Error(ErrorCode::kBadFile, cat("the adapter's '", module.name, "' is for [", module.b.dim(0), ", ",
                                         module.a.dim(1), "], but the weight is ", linear.weight.shape()));
  }
  const Device device = linear.weight.device();
  const double factor = static_cast<double>(module.scale) * scale;
  LoraDelta delta{number, module.a.to_device(device), {}, {}};
  std::vector<float> scaled = module.b.to_vector<float>();
  for (float& value : scaled) value = static_cast<float>(value * factor);
  delta.b = from_vector(scaled, module.b.shape()).to_device(device);
  if (module.magnitude.defined()) {
    std::vector<float> gains = module.magnitude.to_vector<float>();
    const std::vector<double> lengths = row_lengths(linear, module, factor);
    for (size_t i = 0; i < gains.size(); ++i) {
      if (lengths[i] == 0)
        throw Error(ErrorCode::kBadFile,
                    cat("'", module.name, "': row ", i, " of the weight is 0, which DoRA cannot scale"));
      gains[i] = static_cast<float>(gains[i] / lengths[i]);
    }
    delta.gain = from_vector(gains, {static_cast<int64_t>(gains.size())}).to_device(device);
  }
  linear.adapters->add(std::move(delta));
}

void AdapterSlots::place(const LoraModule& module, float scale, int64_t number) const {
  if (const auto whole = linears_.find(module.name); whole != linears_.end()) {
    return add_to(whole->second, module, scale, number);
  }
  bool placed = false;
  for (const auto& [name, linear] : linears_) {
    for (const FusedPart& part : fused_wholes(name + std::string(kWeight))) {
      if (part.whole != module.name + std::string(kWeight)) continue;
      if (part.rows != FusedRows::kQkv && part.rows != FusedRows::kHalves) continue;
      add_to(linear, part_of(module, part, counts_), scale, number);
      placed = true;
    }
  }
  if (placed) return;
  throw Error(ErrorCode::kUnsupported, cat("the adapter changes '", module.name,
                                           "', which is no linear layer of this model that adapters may change"));
}

int64_t AdapterSlots::add(const std::vector<LoraModule>& modules, float scale, const std::string& name) {
  const ArenaPause keep;
  if (!name.empty() && find(name)) {
    throw Error(ErrorCode::kInvalidArgument, cat("there is an adapter '", name, "' already"));
  }
  drop_unused();
  const int64_t number = next_;
  try {
    for (const LoraModule& module : modules) place(module, scale, number);
  } catch (...) {
    drop_weights(number);
    throw;
  }
  const std::lock_guard lock(mutex_);
  adapters_.push_back({name, std::make_shared<const int64_t>(number)});
  if (name.empty()) everywhere_.push_back(number);
  return next_++;
}

bool AdapterSlots::remove(std::string_view name) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(adapters_.begin(), adapters_.end(),
                                    [&](const Adapter& adapter) { return !name.empty() && adapter.name == name; });
    if (found == adapters_.end()) return false;
    removed_.push_back(std::move(found->number));
    adapters_.erase(found);
  }
  drop_unused();
  return true;
}

void AdapterSlots::drop_weights(int64_t number) {
  for (const auto& [name, linear] : linears_) linear.adapters->remove(number);
}

void AdapterSlots::drop_unused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(removed_, [&](const std::shared_ptr<const int64_t>& number) {
    if (number.use_count() > 1) return false;
    drop_weights(*number);
    return true;
  });
}

std::optional<int64_t> AdapterSlots::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  for (const Adapter& adapter : adapters_) {
    if (adapter.name == name) return *adapter.number;
  }
  return std::nullopt;
}

AdapterSlots::Hold AdapterSlots::hold(int64_t number) const {
  const std::lock_guard lock(mutex_);
  for (const Adapter& adapter : adapters_) {
    if (*adapter.number == number) return adapter.number;
  }
  return nullptr;
}

bool AdapterSlots::has_weights(int64_t number) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(adapters_.begin(), adapters_.end(),
                     [&](const Adapter& adapter) { return *adapter.number == number; }) ||
         std::any_of(removed_.begin(), removed_.end(), [&](const auto& other) { return *other == number; });
}

}  // namespace wick
