#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "ops/layers/paged_attention.h"

namespace wick::cpu {

// Softmax is kept up to date over tiles of keys that begin at multiples of kPagedTileKeys, starting anew at multiples
// of kPagedSplitKeys; the splits are then joined in order. Both are counted from position 0, so that a row's sums do
// not depend on what else is computed, nor on whether its splits are computed at once.
inline constexpr int64_t kPagedTileKeys = 64, kPagedSplitKeys = 1024;
inline constexpr int64_t kPagedTileBlocks = kPagedTileKeys / kKvBlockTokens;
// Rows of a task at most; they share one conversion of a tile of keys.
inline constexpr int64_t kPagedMostRows = 192;
// Rows are computed in panels of up to 6. Few panels take several heads in turn, keys and values as they lie.
inline constexpr int64_t kPagedPanelRows = 6, kPagedFewPanels = 8;

// One call as the kernels see it; strides in elements.
struct PagedPlan {
  const float* query;
  int64_t query_token, query_head;
  float* out;  // [tokens, heads, value_dim]
  const std::byte *key, *value;
  int64_t key_block, key_head, value_block, value_head;
  const float *key_scale = nullptr, *value_scale = nullptr;  // i8
  int64_t key_scale_block = 0, key_scale_head = 0, value_scale_block = 0, value_scale_head = 0;
  DType dtype;
  int64_t heads, kv_heads, group, dim, value_dim;
  const int32_t *row_starts, *positions, *table;
  int64_t table_stride;
  float scale, soft_cap;
  int64_t window, chunk;
  const float *sinks, *slopes;  // may be null
  const float* biases;          // [heads, distances]; may be null
  int64_t distances = 0;

  PagedPlan(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows, const PagedAttentionOptions& options,
            const Tensor& out);

  // Sums of a row are kept in whole vectors of any target.
  int64_t sum_stride() const { return (value_dim + 15) / 16 * 16; }
  int64_t first_seen(int64_t position) const {
    const int64_t first = window > 0 ? std::max<int64_t>(0, position - window + 1) : 0;
    return chunk > 0 ? std::max(first, position - position % chunk) : first;
  }
};

// Rows of one sequence that are computed together, for each key head alike. Queries of the heads that share a key head
// form one list, head varying fastest: row r is query r / group of head kv_head * group + r % group.
struct PagedItem {
  int64_t sequence, first_row, row_count;

  int64_t position(const PagedPlan& plan, int64_t row) const {
    return plan.positions[sequence] + (first_row + row) / plan.group;
  }
  int64_t first_key(const PagedPlan& plan) const { return plan.first_seen(position(plan, 0)); }
  int64_t end_key(const PagedPlan& plan) const { return position(plan, row_count - 1) + 1; }
  int64_t first_split(const PagedPlan& plan) const { return first_key(plan) / kPagedSplitKeys; }
  int64_t end_split(const PagedPlan& plan) const { return (end_key(plan) + kPagedSplitKeys - 1) / kPagedSplitKeys; }
};

// What one split leaves behind per row: sums of weighted values, the largest score, the sum of weights.
struct PagedSums {
  float *sums, *most, *total;

  PagedSums(const PagedPlan& plan, int64_t rows, float* memory)
      : sums(memory), most(sums + rows * plan.sum_stride()), total(most + (rows + 15) / 16 * 16) {}
  static int64_t size(const PagedPlan& plan, int64_t rows) {
    return rows * plan.sum_stride() + 2 * ((rows + 15) / 16 * 16);
  }
  void clear(int64_t rows, int64_t stride) const {
    std::fill_n(sums, rows * stride, 0.0f);
    std::fill_n(most, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(total, rows, 0.0f);
  }
};

// The rows of an item for some key heads: all splits in order, to the output, or one split into PagedSums.
struct PagedTask {
  const PagedItem* item;
  int64_t first_head, head_count;
  int64_t split = 0;
  float* sums = nullptr;  // of the first head, the others sums_step apart; null: all splits
  int64_t sums_step = 0;
};
void paged_task(const PagedPlan& plan, const PagedTask& task);
// All splits of one head, whose PagedSums lie one behind the other from task.sums on, to the output.
void paged_join(const PagedPlan& plan, const PagedTask& task);

}  // namespace wick::cpu
