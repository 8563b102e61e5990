#pragma once

#include <algorithm>
#include <cstdint>

#include "ops/kernel_table.h"

namespace wick::cpu {

// One attention call as the kernels see it. Queries of the heads that share a key head form one list of rows, head
// varying fastest: row r of group g is query r / group of head g * group + r % group.
struct AttentionPlan {
  const Tensor &q, &k, &v, &mask, &out;
  AttentionParams params;
  int64_t kv_heads = k.dim(1), group = q.dim(1) / k.dim(1);
  int64_t queries = q.dim(2), keys = k.dim(2), dim = q.dim(3), value_dim = v.dim(3);
  int64_t rows = queries * group;

  int64_t head(int64_t kv_head, int64_t row) const { return kv_head * group + row % group; }
  int64_t query(int64_t row) const { return row / group; }
  // Keys that a row may see, from the front.
  int64_t visible(int64_t row) const {
    return params.causal ? std::clamp<int64_t>(query(row) + keys - queries + 1, 0, keys) : keys;
  }
  template <typename T>
  static const T* at(const Tensor& x, int64_t i, int64_t j, int64_t row) {
    const Strides& s = x.strides();
    return reinterpret_cast<const T*>(x.raw()) + i * s[0] + j * s[1] + row * s[2];
  }
};

// f32, f16 and bf16: blocks of keys pass by a block of rows, softmax is kept up to date as they come.
void attention_blocked(const AttentionPlan& plan);

}  // namespace wick::cpu
