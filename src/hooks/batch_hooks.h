#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hooks/sequence_hooks.h"

namespace wick {

// The hooks of a whole batch, whose rows belong to several sequences. Without any, a point costs one branch.
class BatchHooks {
 public:
  BatchHooks() = default;

  void clear() {
    sequences_.clear();
    active_ = false;
  }
  // Rows [begin, begin + positions.size()) belong to a sequence with these hooks. `positions` must outlive the batch.
  void add(int64_t begin, std::span<const int64_t> positions, const SequenceHooks* hooks);

  bool active() const { return active_; }
  // What x [rows, ...] becomes at this point.
  Tensor operator()(HookPoint point, int layer, const Tensor& x, std::string_view custom = {}) const {
    return active_ ? run(point, layer, x, custom) : x;
  }

  // Whether anybody watches or changes this point of this layer: ops that would not make its values do then.
  bool wants(HookPoint point, int layer) const { return active_ && is_wanted(point, layer); }

  struct Rows {
    int64_t begin;
    std::span<const int64_t> positions;
    const SequenceHooks* hooks;
  };
  const std::vector<Rows>& sequences() const { return sequences_; }

 private:
  bool is_wanted(HookPoint point, int layer) const;
  Tensor run(HookPoint point, int layer, const Tensor& x, std::string_view custom) const;

  bool active_ = false;
  std::vector<Rows> sequences_;
};

// A copy of x, on its device, whose rows from `begin` on are `rows`.
Tensor with_rows(const Tensor& x, int64_t begin, const Tensor& rows);

}  // namespace wick
