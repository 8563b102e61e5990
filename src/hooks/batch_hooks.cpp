#include "hooks/batch_hooks.h"

#include <cstring>

namespace wick {

void BatchHooks::add(int64_t begin, std::span<const int64_t> positions, const SequenceHooks* hooks) {
  if (!hooks || !hooks->spec || hooks->spec->empty() || positions.empty()) return;
  sequences_.push_back({begin, positions, hooks});
  active_ = true;
}

namespace {

// Into contiguous x on the host.
void write_rows(const Tensor& x, int64_t begin, const Tensor& rows) {
  const Tensor host = rows.to_device(Device::cpu()).contiguous();
  const int64_t row_bytes = bytes_of(x.dtype(), x.numel() / x.dim(0));
  std::memcpy(x.raw() + begin * row_bytes, host.raw(), static_cast<size_t>(host.dim(0) * row_bytes));
}

}  // namespace

Tensor with_rows(const Tensor& x, int64_t begin, const Tensor& rows) {
  const Tensor out = x.device() == Device::cpu() ? x.clone() : x.to_device(Device::cpu()).clone();
  write_rows(out, begin, rows);
  return out.to_device(x.device());
}

Tensor BatchHooks::run(HookPoint point, int layer, const Tensor& x, std::string_view custom) const {
  Tensor current = x;
  bool is_copy = false;  // on the host, of all rows: further sequences write into it
  for (const Rows& rows : sequences_) {
    if (!rows.hooks->touches(point)) continue;
    const auto count = static_cast<int64_t>(rows.positions.size());
    const Tensor part = current.with_layout(current.layout().narrow(0, rows.begin, count));
    const Tensor changed = rows.hooks->run(point, layer, part, rows.positions, custom);
    if (changed.storage().get() == current.storage().get()) continue;
    if (count == current.dim(0)) {
      current = changed;
      continue;
    }
    if (!is_copy)
      current = current.device() == Device::cpu() ? current.clone() : current.to_device(Device::cpu()).contiguous();
    is_copy = true;
    write_rows(current, rows.begin, changed);
  }
  return is_copy ? current.to_device(x.device()) : current;
}

}  // namespace wick
