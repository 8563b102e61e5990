#include "hooks/batch_hooks.h"

#include <cstring>

namespace wick {

void BatchHooks::add(int64_t begin, std::span<const int64_t> positions, const SequenceHooks* hooks) {
  if (!hooks || !hooks->spec || hooks->spec->empty() || positions.empty()) return;
  sequences_.push_back({begin, positions, hooks});
  active_ = true;
}

Tensor with_rows(const Tensor& x, int64_t begin, const Tensor& rows) {
  const Tensor out = x.device() == Device::cpu() ? x.clone() : x.to_device(Device::cpu()).clone();
  const Tensor host = rows.to_device(Device::cpu()).contiguous();
  const int64_t row_bytes = bytes_of(x.dtype(), x.numel() / x.dim(0));
  std::memcpy(out.raw() + begin * row_bytes, host.raw(), static_cast<size_t>(host.dim(0) * row_bytes));
  return out.to_device(x.device());
}

Tensor BatchHooks::run(HookPoint point, int layer, const Tensor& x, std::string_view custom) const {
  Tensor current = x;
  for (const Rows& rows : sequences_) {
    if (!rows.hooks->touches(point)) continue;
    const auto count = static_cast<int64_t>(rows.positions.size());
    const Tensor part = current.with_layout(current.layout().narrow(0, rows.begin, count));
    const Tensor changed = rows.hooks->run(point, layer, part, rows.positions, custom);
    if (changed.storage().get() == current.storage().get()) continue;
    current = count == current.dim(0) ? changed : with_rows(current, rows.begin, changed);
  }
  return current;
}

}  // namespace wick
