// Attention in blocks of 64 keys with a running softmax: memory does not grow with the number of keys, and what a row
// gets does not depend on the rows beside it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/attention_blocked.cpp"
#include "hwy/foreach_target.h"
// After foreach_target: compiled once per target.
#include "backends/cpu/attention/attention_keys-inl.h"
#include "backends/cpu/attention/attention_plan.h"
#include "backends/cpu/attention/attention_tile-inl.h"
#include "backends/cpu/gemm/matmul_plan.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

using cpu::AttentionPlan;

inline constexpr int64_t kBlockRows = 192;  // rows that share one packing of a key block

// The state of a block of rows between key blocks, and packed keys and values.
struct AttentionScratch {
  int64_t out_stride, key_stride;
  float *query, *out, *most, *total, *keys, *values;

  AttentionScratch(const AttentionPlan& plan, int64_t rows) {
    out_stride = RoundUp(plan.value_dim, kLanesOf<hn::ScalableTag<float>>);
    const int64_t sizes[] = {rows * plan.dim,       rows * out_stride,      rows, rows,
                             kBlockKeys * plan.dim, kBlockKeys * out_stride};
    int64_t total_size = 0;
    for (const int64_t size : sizes) total_size += RoundUp(size, 16);
    float* next = cpu::scratch<float, struct AttentionBlock>(total_size);
    int i = 0;
    for (float** part : {&query, &out, &most, &total, &keys, &values}) {
      *part = next;
      next += RoundUp(sizes[i++], 16);
    }
  }
};

// The mask's values for one row and one key block.
HWY_INLINE const float* MaskOf(const AttentionPlan& plan, int64_t batch, int64_t head, int64_t query, int64_t key,
                               int64_t count, float* HWY_RESTRICT copy) {
  const int64_t stride = plan.mask.strides()[3];
  const float* from = AttentionPlan::at<float>(plan.mask, batch, head, query) + key * stride;
  for (int64_t j = 0; j < count; ++j) copy[j] = from[j * stride];
  return copy;
}

template <typename T>
struct BlockedAttention {
  const AttentionPlan& plan;
  int64_t batch, kv_head, first_row, row_count;
  AttentionScratch scratch{plan, row_count};
  // Keys whose elements lie side by side are transposed in registers. One tile of rows reads keys and values but once:
  // they are not packed where that can be helped.
  const bool can_transpose = kCanTranspose<T> && plan.k.strides()[3] == 1 && plan.dim % kTransposed<T> == 0;
  const bool lone_tile = row_count <= kTileRows;

  int64_t row_of(int64_t i) const { return first_row + i; }

  // Queries become [panel][dim][rows of the panel].
  void start() {
    for (int64_t p = 0; p < row_count; p += kTileRows) {
      const int64_t width = std::min(kTileRows, row_count - p);
      for (int64_t i = 0; i < width; ++i) {
        const int64_t row = row_of(p + i), step = plan.q.strides()[3];
        const T* from = AttentionPlan::at<T>(plan.q, batch, plan.head(kv_head, row), plan.query(row));
        float* to = scratch.query + p * plan.dim + i;
        for (int64_t d = 0; d < plan.dim; ++d) to[d * width] = convert<float>(from[d * step]);
      }
    }
    std::fill_n(scratch.out, row_count * scratch.out_stride, 0.0f);
    std::fill_n(scratch.most, row_count, -std::numeric_limits<float>::infinity());
    std::fill_n(scratch.total, row_count, 0.0f);
  }

  // Keys of a block, transposed, to [kBlockKeys / lanes][dim][lanes], zeros past the last.
  void pack_keys(int64_t key, int64_t count) {
    constexpr int64_t kLanes = kLanesOf<hn::ScalableTag<float>>;
    if (count < kBlockKeys) std::fill_n(scratch.keys, kBlockKeys * plan.dim, 0.0f);
    int64_t j = 0;
    if constexpr (kCanTranspose<T>) {
      for (; can_transpose && j + kLanes <= count; j += kLanes) {
        TransposeKeys(AttentionPlan::at<T>(plan.k, batch, kv_head, key + j), plan.k.strides()[2], plan.dim,
                      scratch.keys + j * plan.dim);
      }
    }
    for (; j < count; j += kLanes) {
      PackTransposed(AttentionPlan::at<T>(plan.k, batch, kv_head, key + j), plan.k.strides()[2], plan.k.strides()[3],
                     std::min(kLanes, count - j), kLanes, plan.dim, scratch.keys + j * plan.dim);
    }
  }

  // Values of a block as f32 rows of whole vectors; where they already are that, nothing is copied.
  const float* pack_values(int64_t key, int64_t count, int64_t& stride) {
    const T* from = AttentionPlan::at<T>(plan.v, batch, kv_head, key);
    const int64_t row_stride = plan.v.strides()[2], step = plan.v.strides()[3];
    if constexpr (std::is_same_v<T, float>) {
      stride = row_stride;
      if (step == 1 && plan.value_dim == scratch.out_stride) return from;
    }
    stride = scratch.out_stride;
    if (step == 1) {
      PackStraight(from, row_stride, plan.value_dim, stride, count, scratch.values);
      return scratch.values;
    }
    for (int64_t j = 0; j < count; ++j) {
      float* to = scratch.values + j * stride;
      for (int64_t d = 0; d < stride; ++d)
        to[d] = d < plan.value_dim ? convert<float>(from[j * row_stride + d * step]) : 0;
    }
    return scratch.values;
  }

  bool streams_keys(int64_t count) const { return can_transpose && lone_tile && count == kBlockKeys; }

  void score(int64_t p, int64_t width, int64_t key, int64_t count, float* scores) {
    const float* query = scratch.query + p * plan.dim;
    if constexpr (kCanTranspose<T>) {
      if (streams_keys(count)) {
        const T* keys = AttentionPlan::at<T>(plan.k, batch, kv_head, key);
        return ScoreStream(width, query, keys, plan.k.strides()[2], plan.dim, scores);
      }
    }
    ScoreTile(width, query, scratch.keys, plan.dim, scores);
  }

  // One tile of rows against one key block.
  template <typename Value>
  void tile(int64_t p, int64_t width, int64_t key, int64_t count, const Value* values, int64_t value_stride) {
    HWY_ALIGN float scores[kTileRows * kBlockKeys], masked[kBlockKeys];
    float scale[kTileRows];
    int64_t seen[kTileRows];
    bool same = true;
    score(p, width, key, count, scores);
    for (int64_t i = 0; i < width; ++i) {
      const int64_t row = row_of(p + i);
      seen[i] = std::clamp<int64_t>(plan.visible(row) - key, 0, count);
      same = same && seen[i] == seen[0];
      if (seen[i] == 0) continue;
      const float* mask = nullptr;
      if (plan.mask.defined()) {
        mask = MaskOf(plan, batch, plan.head(kv_head, row), plan.query(row), key, seen[i], masked);
      }
      scale[i] = SoftmaxStep(scores + i * kBlockKeys, seen[i], plan.params.scale, mask, scratch.most[p + i],
                             scratch.total[p + i]);
    }
    float* out = scratch.out + p * scratch.out_stride;
    if (same) {
      if (seen[0]) MixTile(width, scores, values, value_stride, seen[0], scale, scratch.out_stride, out);
      return;
    }
    // Rows at the causal edge: each mixes the values it sees and touches no others.
    for (int64_t i = 0; i < width; ++i) {
      if (!seen[i]) continue;
      MixTile(1, scores + i * kBlockKeys, values, value_stride, seen[i], scale + i, scratch.out_stride,
              out + i * scratch.out_stride);
    }
  }

  void finish() {
    for (int64_t i = 0; i < row_count; ++i) {
      const int64_t row = row_of(i), head = plan.head(kv_head, row);
      float* sums = scratch.out + i * scratch.out_stride;
      // A row that saw nothing has sums of zero already.
      const bool nothing = scratch.most[i] == -std::numeric_limits<float>::infinity() && scratch.total[i] == 0;
      const float inverse = nothing ? 0.0f : 1.0f / scratch.total[i];
      for (int64_t d = 0; d < plan.value_dim; ++d) sums[d] = nothing ? 0.0f : sums[d] * inverse;
      T* to = reinterpret_cast<T*>(plan.out.raw()) +
              ((batch * plan.q.dim(1) + head) * plan.queries + plan.query(row)) * plan.value_dim;
      StoreRows(sums, scratch.out_stride, 1, plan.value_dim, to, plan.value_dim);
    }
  }

  void run() {
    start();
    const int64_t end = plan.visible(row_of(row_count - 1));
    for (int64_t key = 0; key < end; key += kBlockKeys) {
      const int64_t count = std::min(kBlockKeys, plan.keys - key);
      int64_t value_stride = 0;
      if (!streams_keys(count)) pack_keys(key, count);
      if (lone_tile && plan.v.strides()[3] == 1 && plan.value_dim == scratch.out_stride) {
        tile(0, row_count, key, count, AttentionPlan::at<T>(plan.v, batch, kv_head, key), plan.v.strides()[2]);
        continue;
      }
      const float* values = pack_values(key, count, value_stride);
      for (int64_t p = 0; p < row_count; p += kTileRows) {
        const int64_t width = std::min(kTileRows, row_count - p);
        if (plan.visible(row_of(p + width - 1)) > key) tile(p, width, key, count, values, value_stride);
      }
    }
    finish();
  }
};

void AttentionBlocked(const AttentionPlan& plan) {
  const cpu::EvenSplit blocks = cpu::split_evenly(plan.rows, kBlockRows);
  parallel_for(plan.q.dim(0) * plan.kv_heads * blocks.parts, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t outer = i / blocks.parts, batch = outer / plan.kv_heads, kv_head = outer % plan.kv_heads;
      const int64_t block = blocks.parts - 1 - i % blocks.parts;  // under a causal mask the last has most to do
      const auto run = [&](auto zero) HWY_ATTR {
        BlockedAttention<decltype(zero)>{plan, batch, kv_head, blocks.begin(block), blocks.length(block)}.run();
      };
      switch (plan.q.dtype()) {
        case DType::kF16: run(Half{}); break;
        case DType::kBF16: run(BFloat16{}); break;
        default: run(float{}); break;
      }
    }
  });
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(AttentionBlocked);
namespace cpu {
void attention_blocked(const AttentionPlan& plan) { HWY_DYNAMIC_DISPATCH(AttentionBlocked)(plan); }
}  // namespace cpu
}  // namespace wick
#endif
