// Rows of one sequence against its keys, tile by tile, for some key heads. Included once per target.
#if defined(WICK_BACKENDS_CPU_PAGED_KERNEL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_PAGED_KERNEL_INL_H
#undef WICK_BACKENDS_CPU_PAGED_KERNEL_INL_H
#else
#define WICK_BACKENDS_CPU_PAGED_KERNEL_INL_H
#endif

#include "backends/cpu/attention/paged_tile-inl.h"
#include "backends/cpu/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

using cpu::kPagedSplitKeys, cpu::kPagedTileBlocks, cpu::kPagedTileKeys;
using cpu::PagedItem, cpu::PagedPlan, cpu::PagedSums, cpu::PagedTask;

// A panel's weights in a tile, and the keys each of its rows sees there: first to end.
struct PanelWeights {
  HWY_ALIGN float weights[kPagedPanelRows * kPagedTileKeys];
  float keep[kPagedPanelRows];
  int64_t first[kPagedPanelRows], end[kPagedPanelRows];
  bool seen;
};

// Rows cut into panels whose lengths differ by at most one, without a division per use.
struct Panels {
  int64_t parts, length_least, longer;
  explicit Panels(int64_t rows)
      : parts((rows + kPagedPanelRows - 1) / kPagedPanelRows), length_least(rows / parts), longer(rows % parts) {}
  int64_t begin(int64_t p) const { return p * length_least + std::min(p, longer); }
  int64_t length(int64_t p) const { return length_least + (p < longer ? 1 : 0); }
};

// Panels that each convert keys and values as they load them; not worth it where that takes more than an instruction.
template <typename T>
inline constexpr int64_t kUnconvertedPanels =
    std::is_same_v<T, Half> && !WICK_NATIVE_F16_AND_MASKS ? 1 : cpu::kPagedFewPanels;

template <typename T>
struct PagedKernel {
  const PagedPlan& plan;
  const PagedTask& task;
  const PagedItem& item = *task.item;
  const int64_t rows = item.row_count, stride = plan.sum_stride();
  const Panels panels{rows};
  const int32_t* table = plan.table + item.sequence * plan.table_stride;
  const bool few = panels.parts <= cpu::kPagedFewPanels;
  // Many panels share one conversion to f32. Values whose rows are not whole vectors are copied even for few.
  const bool many = panels.parts > kUnconvertedPanels<T> && !std::is_same_v<T, float>;
  const bool copies_values = many || plan.value_dim % kPagedLanes != 0;
  float *query = nullptr, *keys = nullptr, *values = nullptr;
  PanelWeights* weights = nullptr;
  int64_t* positions = nullptr;  // of the rows
  float* sums = nullptr;         // PagedSums of the first head; those of the others are sums_step apart
  int64_t sums_step = 0;

  PagedSums sums_of(int64_t h) const { return {plan, rows, sums + h * sums_step}; }
  int64_t head(int64_t h, int64_t row) const {
    return (task.first_head + h) * plan.group + (item.first_row + row) % plan.group;
  }
  int64_t token(int64_t row) const { return plan.row_starts[item.sequence] + (item.first_row + row) / plan.group; }

  // Scaled queries become [head][panel][dim][rows of the panel].
  void start(float* sums_memory, int64_t step) {
    sums = sums_memory;
    sums_step = step;
    const int64_t query_size = RoundUp(task.head_count * rows * plan.dim, 16);
    const int64_t key_size = many ? kPagedTileKeys * plan.dim : 0,
                  value_size = copies_values ? kPagedTileKeys * stride : 0;
    query = cpu::scratch<float, struct PagedTile>(query_size + key_size + value_size);
    keys = query + query_size;
    values = keys + key_size;
    weights = cpu::scratch<PanelWeights, struct PagedWeights>(few ? task.head_count * panels.parts : 1);
    positions = cpu::scratch<int64_t, struct PagedPositions>(rows);
    for (int64_t i = 0; i < rows; ++i) positions[i] = item.position(plan, i);
    for (int64_t h = 0; h < task.head_count; ++h) {
      for (int64_t p = 0; p < panels.parts; ++p) {
        const int64_t begin = panels.begin(p), width = panels.length(p);
        for (int64_t i = 0; i < width; ++i) {
          const float* from = plan.query + token(begin + i) * plan.query_token + head(h, begin + i) * plan.query_head;
          float* to = query + (h * rows + begin) * plan.dim + i;
          for (int64_t k = 0; k < plan.dim; ++k) to[k * width] = from[k] * plan.scale;
        }
      }
    }
  }

  // Where the tile's blocks lie. Blocks without a key that a row sees may be gone: the nearest one stands in.
  template <typename Element>
  TileBlocks<Element> find(const Element* pool, int64_t block_stride, int64_t head_stride, int64_t h,
                           int64_t key) const {
    TileBlocks<Element> result;
    const int64_t first = plan.first_seen(positions[0]) / kKvBlockTokens, last = positions[rows - 1] / kKvBlockTokens;
    for (int64_t b = 0; b < kPagedTileBlocks; ++b) {
      const int64_t block = table[std::clamp(key / kKvBlockTokens + b, first, last)];
      result.at[b] = pool + block * block_stride + (task.first_head + h) * head_stride;
    }
    return result;
  }
  TileBlocks<T> find_keys(int64_t h, int64_t key) const {
    return find(reinterpret_cast<const T*>(plan.key), plan.key_block, plan.key_head, h, key);
  }
  TileBlocks<T> find_values(int64_t h, int64_t key) const {
    return find(reinterpret_cast<const T*>(plan.value), plan.value_block, plan.value_head, h, key);
  }
  // What to ask for; nothing behind the last tile.
  TileAhead ahead_keys(int64_t h, int64_t key, int64_t end) const {
    return key < end ? ahead_of(find_keys(h, key), plan.dim) : TileAhead();
  }
  TileAhead ahead_values(int64_t h, int64_t key) const { return ahead_of(find_values(h, key), plan.value_dim); }
  static TileAhead ahead_of(const TileBlocks<T>& blocks, int64_t dim) {
    TileAhead result;
    for (int64_t b = 0; b < kPagedTileBlocks; ++b) result.at[b] = reinterpret_cast<const std::byte*>(blocks.at[b]);
    result.bytes = dim * kKvBlockTokens * static_cast<int64_t>(sizeof(T));
    return result;
  }

  TileBlocks<float> convert_keys(const TileBlocks<T>& from) const {
    const hn::ScalableTag<float> d;
    TileBlocks<float> result;
    const int64_t size = kKvBlockTokens * plan.dim;
    for (int64_t b = 0; b < kPagedTileBlocks; ++b) {
      float* to = keys + b * size;
      for (int64_t i = 0; i < size; i += kPagedLanes) hn::StoreU(LoadAs(d, from.at[b] + i), d, to + i);
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

  template <typename Key>
  void score(int64_t h, int64_t p, int64_t key, const TileBlocks<Key>& blocks, const TileAhead& ahead,
             PanelWeights& to) const {
    const int64_t begin = panels.begin(p), width = panels.length(p);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t position = positions[begin + i];
      to.first[i] = std::clamp<int64_t>(plan.first_seen(position) - key, 0, kPagedTileKeys);
      to.end[i] = std::clamp<int64_t>(position + 1 - key, 0, kPagedTileKeys);
    }
    to.seen = to.first[0] < kPagedTileKeys && to.end[width - 1] > 0;
    if (!to.seen) return;
    ScorePanel(width, query + (h * rows + begin) * plan.dim, blocks, ahead, plan.dim, to.end[width - 1], to.weights);
    ScoreRules rules{.soft_cap = plan.soft_cap, .distances = plan.distances};
    TileBlocks<float> key_scale, value_scale;
    if constexpr (std::is_same_v<T, int8_t>) {
      key_scale = find(plan.key_scale, plan.key_scale_block, plan.key_scale_head, h, key);
      value_scale = find(plan.value_scale, plan.value_scale_block, plan.value_scale_head, h, key);
      rules.key_scale = &key_scale;
      rules.value_scale = &value_scale;
    }
    // First the largest scores of all rows, then their weights: the waits within one row overlap with the next.
    const PagedSums all = sums_of(h);
    float most[kPagedPanelRows];
    for (int64_t i = 0; i < width; ++i) {
      most[i] = all.most[begin + i];
      if (to.first[i] >= to.end[i]) continue;
      if (plan.slopes) rules.slope = plan.slopes[head(h, begin + i)];
      if (plan.biases) rules.biases = plan.biases + head(h, begin + i) * plan.distances;
      most[i] = FinishScores(to.weights + i * kPagedTileKeys, to.first[i], to.end[i], rules, key - positions[begin + i],
                             most[i]);
    }
    for (int64_t i = 0; i < width; ++i) {
      to.keep[i] = 1.0f;
      if (to.first[i] >= to.end[i]) continue;
      const float sum = WeighScores(to.weights + i * kPagedTileKeys, to.first[i], to.end[i], rules, most[i]);
      to.keep[i] = KeepOf(all.most[begin + i], most[i]);
      all.most[begin + i] = most[i];
      all.total[begin + i] = all.total[begin + i] * to.keep[i] + sum;
    }
  }

  // Keys that all rows of the panel see are mixed for all; what a row sees beside them is mixed for it alone, so that
  // no row touches a value it does not see.
  template <typename Value>
  void mix(int64_t h, int64_t p, const TileBlocks<Value>& blocks, const TileAhead& ahead, PanelWeights& by) const {
    if (!by.seen) return;
    const int64_t begin = panels.begin(p), width = panels.length(p);
    const int64_t columns = copies_values ? stride : plan.value_dim;
    float* to = sums_of(h).sums + begin * stride;
    const auto part = [&](int64_t i, int64_t count, int64_t from, int64_t until) HWY_ATTR {
      if (from >= until) return;
      MixPanel(count, by.weights + i * kPagedTileKeys, blocks, columns, columns, from, until, by.keep + i, stride,
               to + i * stride, ahead);
      std::fill_n(by.keep + i, count, 1.0f);
    };
    const int64_t all_from = *std::max_element(by.first, by.first + width);
    const int64_t all_to = *std::min_element(by.end, by.end + width);
    if (all_from >= all_to) {
      for (int64_t i = 0; i < width; ++i) part(i, 1, by.first[i], by.end[i]);
      return;
    }
    for (int64_t i = 0; i < width; ++i) part(i, 1, by.first[i], all_from);
    part(0, width, all_from, all_to);
    for (int64_t i = 0; i < width; ++i) part(i, 1, all_to, by.end[i]);
  }

  // Several heads: the keys of all, which lie side by side in a block, then the values of all.
  void tile_of_heads(int64_t key, int64_t end) const {
    for (int64_t h = 0; h < task.head_count; ++h) {
      const auto blocks = find_keys(h, key);
      const TileAhead ahead = h + 1 < task.head_count ? ahead_keys(h + 1, key, end) : ahead_values(0, key);
      const auto score_all = [&](const auto& from) HWY_ATTR {
        for (int64_t p = 0; p < panels.parts; ++p) {
          score(h, p, key, from, p ? TileAhead() : ahead, weights[h * panels.parts + p]);
        }
      };
      if (many) {
        score_all(convert_keys(blocks));
      } else {
        score_all(blocks);
      }
    }
    for (int64_t h = 0; h < task.head_count; ++h) {
      const auto blocks = find_values(h, key);
      const TileAhead ahead =
          h + 1 < task.head_count ? ahead_values(h + 1, key) : ahead_keys(0, key + kPagedTileKeys, end);
      const auto mix_all = [&](const auto& from) HWY_ATTR {
        for (int64_t p = 0; p < panels.parts; ++p)
          mix(h, p, from, p ? TileAhead() : ahead, weights[h * panels.parts + p]);
      };
      if (copies_values) {
        mix_all(convert_values(blocks));
      } else {
        mix_all(blocks);
      }
    }
  }

  // One head and many rows.
  void tile_of_rows(int64_t key, int64_t end) const {
    const auto key_blocks = find_keys(0, key), value_blocks = find_values(0, key);
    const TileAhead next_keys = ahead_keys(0, key + kPagedTileKeys, end);
    const TileAhead next_values = next_keys.bytes ? ahead_values(0, key + kPagedTileKeys) : TileAhead();
    const auto all = [&](const auto& k, const auto& v) HWY_ATTR {
      bool ahead = true;  // the first panel that sees the tile
      for (int64_t p = 0; p < panels.parts; ++p) {
        score(0, p, key, k, ahead ? next_keys : TileAhead(), *weights);
        mix(0, p, v, ahead ? next_values : TileAhead(), *weights);
        ahead = ahead && !weights->seen;
      }
    };
    if (many) {
      all(convert_keys(key_blocks), convert_values(value_blocks));
    } else if (copies_values) {
      all(key_blocks, convert_values(value_blocks));
    } else {
      all(key_blocks, value_blocks);
    }
  }

  void run_split(int64_t split) const {
    for (int64_t h = 0; h < task.head_count; ++h) sums_of(h).clear(rows, stride);
    const int64_t begin = std::max(split * kPagedSplitKeys, item.first_key(plan) / kPagedTileKeys * kPagedTileKeys);
    const int64_t end = std::min((split + 1) * kPagedSplitKeys, item.end_key(plan));
    for (int64_t key = begin; key < end; key += kPagedTileKeys) {
      if (few) {
        tile_of_heads(key, item.end_key(plan));
      } else {
        tile_of_rows(key, item.end_key(plan));
      }
    }
  }
};

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
