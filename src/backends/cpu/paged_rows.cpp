// Paged attention of a few rows of one sequence: tiles of keys pass by, softmax is kept up to date as they come.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/paged_rows.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/matmul_plan.h"
#include "backends/cpu/paged_plan.h"
#include "backends/cpu/paged_tile-inl.h"
#include "backends/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

using cpu::kPagedSplitKeys, cpu::kPagedTileBlocks, cpu::kPagedTileKeys;
using cpu::PagedItem, cpu::PagedPlan, cpu::PagedSums;

template <typename T>
struct PagedKernel {
  const PagedPlan& plan;
  const PagedItem& item;
  const int64_t kv_head;
  const int64_t rows = item.row_count, stride = plan.sum_stride();
  const cpu::EvenSplit panels = cpu::split_evenly(rows, kPagedPanelRows);
  const int32_t* table = plan.table + item.sequence * plan.table_stride;
  // Several panels share one conversion to f32. Values whose rows are not whole vectors are copied even for one.
  const bool many = panels.parts > 1 && !std::is_same_v<T, float>;
  const bool copies_values = many || plan.value_dim % kPagedLanes != 0;
  float *query = nullptr, *keys = nullptr, *values = nullptr;

  int64_t head(int64_t row) const { return kv_head * plan.group + (item.first_row + row) % plan.group; }
  int64_t token(int64_t row) const { return plan.row_starts[item.sequence] + (item.first_row + row) / plan.group; }

  // Scaled queries become [panel][dim][rows of the panel].
  void start() {
    const int64_t sizes[] = {rows * plan.dim, many ? kPagedTileKeys * plan.dim : 0,
                             copies_values ? kPagedTileKeys * stride : 0};
    float* next = cpu::scratch<float, struct PagedTile>(RoundUp(sizes[0], 16) + RoundUp(sizes[1], 16) + sizes[2]);
    query = next;
    keys = query + RoundUp(sizes[0], 16);
    values = keys + RoundUp(sizes[1], 16);
    for (int64_t p = 0; p < panels.parts; ++p) {
      const int64_t width = panels.length(p);
      for (int64_t i = 0; i < width; ++i) {
        const int64_t row = panels.begin(p) + i;
        const float* from = plan.query + token(row) * plan.query_token + head(row) * plan.query_head;
        float* to = query + panels.begin(p) * plan.dim + i;
        for (int64_t k = 0; k < plan.dim; ++k) to[k * width] = from[k] * plan.scale;
      }
    }
  }

  void clear(const PagedSums& to) const {
    std::fill_n(to.sums, rows * stride, 0.0f);
    std::fill_n(to.most, rows, -std::numeric_limits<float>::infinity());
    std::fill_n(to.total, rows, 0.0f);
  }

  // Where the tile's blocks lie. Blocks without a key that a row sees may be gone: the nearest one stands in.
  template <typename Element>
  TileBlocks<Element> find(const Element* pool, int64_t block_stride, int64_t head_stride, int64_t key) const {
    TileBlocks<Element> result;
    const int64_t first = item.first_key(plan) / kKvBlockTokens, last = (item.end_key(plan) - 1) / kKvBlockTokens;
    for (int64_t b = 0; b < kPagedTileBlocks; ++b) {
      const int64_t block = table[std::clamp(key / kKvBlockTokens + b, first, last)];
      result.at[b] = pool + block * block_stride + kv_head * head_stride;
    }
    return result;
  }

  TileBlocks<float> convert_keys(const TileBlocks<T>& from) const {
    const hn::ScalableTag<float> d;
    TileBlocks<float> result;
    for (int64_t b = 0; b < kPagedTileBlocks; ++b) {
      float* to = keys + b * kKvBlockTokens * plan.dim;
      for (int64_t i = 0; i < kKvBlockTokens * plan.dim; i += kPagedLanes)
        hn::StoreU(LoadAs(d, from.at[b] + i), d, to + i);
      result.at[b] = to;
    }
    return result;
  }

  TileBlocks<float> convert_values(const TileBlocks<T>& from) const {
    const hn::ScalableTag<float> d;
    TileBlocks<float> result;
    for (int64_t b = 0; b < kPagedTileBlocks; ++b) {
      result.at[b] = values + b * kKvBlockTokens * stride;
      for (int64_t t = 0; t < kKvBlockTokens; ++t) {
        const T* row = from.at[b] + t * plan.value_dim;
        float* to = values + (b * kKvBlockTokens + t) * stride;
        int64_t i = 0;
        for (; i + kPagedLanes <= plan.value_dim; i += kPagedLanes) hn::StoreU(LoadAs(d, row + i), d, to + i);
        if (i < plan.value_dim) {
          hn::StoreU(LoadAsN(d, row + i, static_cast<size_t>(plan.value_dim - i)), d, to + i);
        }
      }
    }
    return result;
  }

  // One panel of rows against the tile of keys from `key` on.
  template <typename Key, typename Value>
  void panel(int64_t p, int64_t key, const TileBlocks<Key>& key_blocks, const TileBlocks<Value>& value_blocks,
             int64_t value_stride, ScoreRules rules, const PagedSums& to) const {
    const int64_t begin = panels.begin(p), width = panels.length(p);
    HWY_ALIGN float scores[kPagedPanelRows * kPagedTileKeys];
    float keep[kPagedPanelRows] = {};
    int64_t first[kPagedPanelRows], end[kPagedPanelRows];
    // Keys that all rows of the panel see; what a row sees beside them is mixed for it alone, so that no row touches a
    // value it does not see.
    int64_t all_from = 0, all_to = kPagedTileKeys;
    for (int64_t i = 0; i < width; ++i) {
      const int64_t position = item.position(plan, begin + i);
      first[i] = std::clamp<int64_t>(plan.first_seen(position) - key, 0, kPagedTileKeys);
      end[i] = std::clamp<int64_t>(position + 1 - key, 0, kPagedTileKeys);
      all_from = std::max(all_from, first[i]);
      all_to = std::min(all_to, end[i]);
    }
    if (first[0] >= kPagedTileKeys || end[width - 1] <= 0) return;
    ScorePanel(width, query + begin * plan.dim, key_blocks, plan.dim, scores);
    for (int64_t i = 0; i < width; ++i) {
      keep[i] = 1.0f;
      if (first[i] >= end[i]) continue;
      if (plan.slopes) rules.slope = plan.slopes[head(begin + i)];
      keep[i] = SoftmaxKeys(scores + i * kPagedTileKeys, first[i], end[i], rules, key - item.position(plan, begin + i),
                            to.most[begin + i], to.total[begin + i]);
    }
    const int64_t columns = copies_values ? stride : plan.value_dim;
    const auto mix = [&](int64_t i, int64_t count, int64_t from, int64_t until) HWY_ATTR {
      MixPanel(count, scores + i * kPagedTileKeys, value_blocks, value_stride, columns, from, until, keep + i, stride,
               to.sums + (begin + i) * stride);
      std::fill_n(keep + i, count, 1.0f);
    };
    if (all_from >= all_to) {
      for (int64_t i = 0; i < width; ++i) {
        if (first[i] < end[i]) mix(i, 1, first[i], end[i]);
      }
      return;
    }
    for (int64_t i = 0; i < width; ++i) {
      if (first[i] < all_from) mix(i, 1, first[i], all_from);
    }
    mix(0, width, all_from, all_to);
    for (int64_t i = 0; i < width; ++i) {
      if (all_to < end[i]) mix(i, 1, all_to, end[i]);
    }
  }

  void tile(int64_t key, const PagedSums& to) const {
    const auto key_blocks = find(reinterpret_cast<const T*>(plan.key), plan.key_block, plan.key_head, key);
    const auto value_blocks = find(reinterpret_cast<const T*>(plan.value), plan.value_block, plan.value_head, key);
    ScoreRules rules{.soft_cap = plan.soft_cap};
    TileBlocks<float> key_scale, value_scale;
    if constexpr (std::is_same_v<T, int8_t>) {
      key_scale = find(plan.key_scale, plan.key_scale_block, plan.key_scale_head, key);
      value_scale = find(plan.value_scale, plan.value_scale_block, plan.value_scale_head, key);
      rules.key_scale = &key_scale;
      rules.value_scale = &value_scale;
    }
    const auto all = [&](const auto& k, const auto& v, int64_t value_stride) HWY_ATTR {
      for (int64_t p = 0; p < panels.parts; ++p) panel(p, key, k, v, value_stride, rules, to);
    };
    if (many) {
      all(convert_keys(key_blocks), convert_values(value_blocks), stride);
    } else if (copies_values) {
      all(key_blocks, convert_values(value_blocks), stride);
    } else {
      all(key_blocks, value_blocks, plan.value_dim);
    }
  }

  void run_split(int64_t split, const PagedSums& to) const {
    clear(to);
    const int64_t begin = std::max(split * kPagedSplitKeys, item.first_key(plan) / kPagedTileKeys * kPagedTileKeys);
    const int64_t end = std::min((split + 1) * kPagedSplitKeys, item.end_key(plan));
    for (int64_t key = begin; key < end; key += kPagedTileKeys) tile(key, to);
  }
};

// Adds the next split of a row to those before it.
HWY_INLINE void JoinSplit(const PagedSums& next, const PagedSums& to, int64_t row, int64_t stride) {
  const hn::ScalableTag<float> d;
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  if (next.most[row] == kNothing && next.total[row] == 0) return;
  if (to.most[row] == kNothing && to.total[row] == 0) {
    std::copy_n(next.sums + row * stride, stride, to.sums + row * stride);
    to.most[row] = next.most[row];
    to.total[row] = next.total[row];
    return;
  }
  const float most = std::max(to.most[row], next.most[row]), base = most == kNothing ? 0.0f : most;
  const float keep = hn::GetLane(ExpNegative(d, hn::Set(d, to.most[row] - base)));
  const float join = hn::GetLane(ExpNegative(d, hn::Set(d, next.most[row] - base)));
  to.most[row] = most;
  to.total[row] = to.total[row] * keep + next.total[row] * join;
  for (int64_t j = 0; j < stride; j += kPagedLanes) {
    float* at = to.sums + row * stride + j;
    const auto joined = hn::Mul(hn::LoadU(d, next.sums + row * stride + j), hn::Set(d, join));
    hn::StoreU(hn::MulAdd(hn::LoadU(d, at), hn::Set(d, keep), joined), d, at);
  }
}

// Sums divided by the sum of weights, which the sink joins.
template <typename T>
void Finish(const PagedKernel<T>& kernel, const PagedSums& from) {
  const PagedPlan& plan = kernel.plan;
  const hn::ScalableTag<float> d;
  for (int64_t row = 0; row < kernel.rows; ++row) {
    float factor = 1, total = from.total[row];
    if (plan.sinks) {
      const float sink = plan.sinks[kernel.head(row)], most = std::max(from.most[row], sink);
      factor = hn::GetLane(ExpNegative(d, hn::Set(d, from.most[row] - most)));
      total = total * factor + hn::GetLane(ExpNegative(d, hn::Set(d, sink - most)));
    }
    const float inverse = factor / total;
    float* sums = from.sums + row * kernel.stride;
    for (int64_t j = 0; j < kernel.stride; j += kPagedLanes) {
      hn::StoreU(hn::Mul(hn::LoadU(d, sums + j), hn::Set(d, inverse)), d, sums + j);
    }
    float* to = plan.out + (kernel.token(row) * plan.heads + kernel.head(row)) * plan.value_dim;
    std::copy_n(sums, plan.value_dim, to);
  }
}

template <typename Body>
HWY_INLINE void WithPoolType(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::kF16: return body(Half{});
    case DType::kBF16: return body(BFloat16{});
    case DType::kI8: return body(int8_t{});
    default: return body(float{});
  }
}

void RunRows(const PagedPlan& plan, const PagedItem& item, int64_t kv_head) {
  WithPoolType(plan.dtype, [&](auto zero) HWY_ATTR {
    PagedKernel<decltype(zero)> kernel{plan, item, kv_head};
    kernel.start();
    const int64_t first = item.first_split(plan), end = item.end_split(plan), size = PagedSums::size(plan, kernel.rows);
    float* memory = cpu::scratch<float, struct PagedState>(2 * size);
    const PagedSums all(plan, kernel.rows, memory), next(plan, kernel.rows, memory + size);
    kernel.run_split(first, all);
    for (int64_t split = first + 1; split < end; ++split) {
      kernel.run_split(split, next);
      for (int64_t row = 0; row < kernel.rows; ++row) JoinSplit(next, all, row, kernel.stride);
    }
    Finish(kernel, all);
  });
}

void RunSplit(const PagedPlan& plan, const PagedItem& item, int64_t kv_head, int64_t split, float* sums) {
  WithPoolType(plan.dtype, [&](auto zero) HWY_ATTR {
    PagedKernel<decltype(zero)> kernel{plan, item, kv_head};
    kernel.start();
    kernel.run_split(split, PagedSums(plan, kernel.rows, sums));
  });
}

void RunJoin(const PagedPlan& plan, const PagedItem& item, int64_t kv_head, float* sums) {
  const PagedKernel<float> kernel{plan, item, kv_head};
  const PagedSums all(plan, kernel.rows, sums);
  for (int64_t split = item.first_split(plan) + 1; split < item.end_split(plan); ++split) {
    sums += PagedSums::size(plan, kernel.rows);
    const PagedSums next(plan, kernel.rows, sums);
    for (int64_t row = 0; row < kernel.rows; ++row) JoinSplit(next, all, row, kernel.stride);
  }
  Finish(kernel, all);
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(RunRows);
HWY_EXPORT(RunSplit);
HWY_EXPORT(RunJoin);
namespace cpu {
void paged_rows(const PagedPlan& plan, const PagedItem& item, int64_t kv_head) {
  HWY_DYNAMIC_DISPATCH(RunRows)(plan, item, kv_head);
}
void paged_split(const PagedPlan& plan, const PagedItem& item, int64_t kv_head, int64_t split, float* sums) {
  HWY_DYNAMIC_DISPATCH(RunSplit)(plan, item, kv_head, split, sums);
}
void paged_join(const PagedPlan& plan, const PagedItem& item, int64_t kv_head, float* sums) {
  HWY_DYNAMIC_DISPATCH(RunJoin)(plan, item, kv_head, sums);
}
}  // namespace cpu
}  // namespace wick
#endif
