#include "hooks/batch_hooks.h"

#include <algorithm>
#include <cstring>

#include "tensor/device.h"

namespace wick {

void BatchHooks::add(int64_t begin, std::span<const int64_t> positions, const SequenceHooks* hooks) {
  if (!hooks || !hooks->spec || hooks->spec->empty() || positions.empty()) return;
  sequences_.push_back({begin, positions, hooks});
  active_ = true;
}

bool BatchHooks::is_wanted(HookPoint point, int layer) const {
  return std::any_of(sequences_.begin(), sequences_.end(), [&](const Rows& rows) {
    const HookSpec& spec = *rows.hooks->spec;
    return spec.touches(point) && (spec.captures(point, layer) || spec.edits(point, layer));
  });
}

namespace {

// Into row-major x.
void write_rows(const Tensor& x, int64_t begin, const Tensor& rows) {
  const Tensor dense = rows.to_device(x.device()).contiguous();
  const int64_t row_bytes = bytes_of(x.dtype(), x.numel() / x.dim(0));
  std::byte* to = x.raw() + begin * row_bytes;
  const auto bytes = static_cast<size_t>(dense.dim(0) * row_bytes);
  if (x.device().is_host()) {
    std::memcpy(to, dense.raw(), bytes);
  } else {
    device_memory(x.device()).copy_within(x.device(), to, dense.raw(), bytes);
  }
}

}  // namespace

Tensor with_rows(const Tensor& x, int64_t begin, const Tensor& rows) {
  Tensor out = x.clone();
  write_rows(out, begin, rows);
  return out;
}

Tensor BatchHooks::run(HookPoint point, int layer, const Tensor& x, std::string_view custom) const {
  Tensor current = x;
  bool is_copy = false;  // further sequences write into it
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
    if (!is_copy) current = current.clone();
    is_copy = true;
    write_rows(current, rows.begin, changed);
  }
  return current;
}

}  // namespace wick
