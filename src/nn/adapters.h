#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace wick {

struct Linear;

// What an adapter adds to a linear y = x W^T: (x a^T) b^T, and with a gain (DoRA) the products of W and of the adapter
// times it.
struct LoraDelta {
  int64_t adapter = 0;  // its number in the model
  Tensor a;             // f32 [rank, in]
  Tensor b;             // f32 [out, rank], its scale in it
  Tensor gain;          // f32 [out]; undefined: 1
};

// The adapters of one linear.
class LinearAdapters {
 public:
  void add(LoraDelta delta) { deltas_.push_back(std::move(delta)); }
  void remove(int64_t adapter) {
    std::erase_if(deltas_, [=](const LoraDelta& delta) { return delta.adapter == adapter; });
  }
  // y [rows, out] of x [rows, in] with what the adapters of the pass under way add. A row has the same bits whatever
  // adapters the other rows have.
  Tensor add_to(const Tensor& y, const Tensor& x, const Linear& linear) const;

 private:
  const LoraDelta* find(int64_t adapter) const;
  std::vector<LoraDelta> deltas_;
};

// The rows of a pass that have the same adapters.
struct AdaptedRows {
  std::span<const int64_t> adapters;  // numbers
  Tensor all, kept;  // i64: which rows of all, and of those whose logits are wanted; undefined: every row
};

// Which rows have which adapters, while one pass is under way on this thread. Linears ask current().
class AdapterPass {
 public:
  // `tokens` rows, `kept` of which go on behind the last mixer.
  AdapterPass(std::vector<AdaptedRows> rows, int64_t tokens, int64_t kept);
  ~AdapterPass();
  AdapterPass(const AdapterPass&) = delete;
  AdapterPass& operator=(const AdapterPass&) = delete;

  static const AdapterPass* current();  // null: no row has an adapter

  const std::vector<AdaptedRows>& rows() const { return rows_; }
  // Which of `count` rows; throws Error(kShape) when a pass has no such count.
  const Tensor& index(const AdaptedRows& rows, int64_t count) const;

 private:
  std::vector<AdaptedRows> rows_;
  int64_t tokens_, kept_;
  const AdapterPass* outer_;
};

}  // namespace wick
