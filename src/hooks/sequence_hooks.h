#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "hooks/hook_cache.h"
#include "hooks/hook_spec.h"

namespace wick {

// The hooks of one sequence during forward passes: carries out a spec and keeps what it captures. Either may be null.
struct SequenceHooks {
  const HookSpec* spec = nullptr;
  HookCache* cache = nullptr;
  // Where several sequences share a pass: what goes wrong is put here, and the rest of the pass does without these
  // hooks. Null: it is thrown.
  std::optional<Error>* failure = nullptr;

  bool touches(HookPoint point) const { return spec && spec->touches(point); }
  // The values to go on with: `values` itself when nothing changes them. `positions` are those of the rows. Throws
  // Error(kInvalidArgument) naming the hook when an edit does not fit the values.
  Tensor run(HookPoint point, int layer, const Tensor& values, std::span<const int64_t> positions,
             std::string_view custom = {}) const;

 private:
  Tensor apply(HookPoint point, int layer, const Tensor& values, std::span<const int64_t> positions,
               std::string_view custom) const;
};

}  // namespace wick
