#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hooks/hook_point.h"
#include "tensor/tensor.h"

namespace wick {

// What was captured of one sequence, by name. Rows of later passes (chunks of a prompt, generated tokens) join those of
// earlier ones. Values are on the host, in their own memory.
class HookCache {
 public:
  bool has(std::string_view name) const { return chunks_.find(name) != chunks_.end(); }
  std::vector<std::string> names() const;
  // All rows. Attention scores and patterns are [heads, rows, longest context], with -inf and 0 where a row had no key.
  // Throws Error(kInvalidArgument) listing what there is.
  Tensor at(std::string_view name) const;
  Tensor at(HookPoint point, int layer) const { return at(hook_name(point, layer)); }
  void clear() { chunks_.clear(); }

  // Adds a copy of `rows`; `state` replaces what was there before.
  void add(const std::string& name, HookPoint point, const Tensor& rows);

 private:
  struct Captured {
    HookPoint point;
    std::vector<Tensor> chunks;
  };
  std::map<std::string, Captured, std::less<>> chunks_;
};

}  // namespace wick
