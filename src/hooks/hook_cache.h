#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hooks/hook_point.h"
#include "tensor/tensor.h"

namespace wick {

// What was captured of one sequence, by name. Rows of later passes (chunks of a prompt, generated tokens) join those of
// earlier ones. Values stay in memory of their own on the device they were computed on, so that a pass does not wait
// for copies, up to kDeviceBytes and as long as the device has room; what is more comes to the host at once.
class HookCache {
 public:
  static constexpr int64_t kDeviceBytes = int64_t{4} << 30;

  bool has(std::string_view name) const { return chunks_.find(name) != chunks_.end(); }
  std::vector<std::string> names() const;
  // All rows, on the host. Attention scores and patterns are [heads, rows, longest context], with -inf and 0 where a
  // row had no key. Throws Error(kInvalidArgument) listing what there is.
  Tensor at(std::string_view name) const;
  Tensor at(HookPoint point, int layer) const { return at(hook_name(point, layer)); }
  void clear();

  // Adds a copy of `rows`; `state` replaces what was there before.
  void add(const std::string& name, HookPoint point, const Tensor& rows);

 private:
  Tensor kept_on_device(const Tensor& rows);

  struct Captured {
    HookPoint point;
    std::vector<Tensor> chunks;
  };
  std::map<std::string, Captured, std::less<>> chunks_;
  int64_t device_bytes_ = 0;
};

}  // namespace wick
