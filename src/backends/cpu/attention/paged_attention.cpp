#include "ops/layers/paged_attention.h"

#include "backends/cpu/attention/paged_plan.h"
#include "backends/cpu/gemm/matmul_plan.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"

namespace wick::cpu {

PagedPlan::PagedPlan(const Tensor& q, const KvBlocks& blocks, const PagedRows& rows,
                     const PagedAttentionOptions& options, const Tensor& result) {
  const auto floats = [](const Tensor& x) { return x.defined() ? reinterpret_cast<const float*>(x.raw()) : nullptr; };
  const auto ints = [](const Tensor& x) { return reinterpret_cast<const int32_t*>(x.raw()); };
  query = floats(q);
  query_token = q.strides()[0];
  query_head = q.strides()[1];
  out = reinterpret_cast<float*>(result.raw());
  key = blocks.key.raw();
  value = blocks.value.raw();
  key_block = blocks.key.strides()[0];
  key_head = blocks.key.strides()[1];
  value_block = blocks.value.strides()[0];
  value_head = blocks.value.strides()[1];
  dtype = blocks.key.dtype();
  if (dtype == DType::kI8) {
    key_scale = floats(blocks.key_scale);
    key_scale_block = blocks.key_scale.strides()[0];
    key_scale_head = blocks.key_scale.strides()[1];
    value_scale = floats(blocks.value_scale);
    value_scale_block = blocks.value_scale.strides()[0];
    value_scale_head = blocks.value_scale.strides()[1];
  }
  heads = q.dim(1);
  kv_heads = blocks.key.dim(1);
  group = heads / kv_heads;
  dim = q.dim(2);
  value_dim = result.dim(2);
  row_starts = ints(rows.row_starts);
  positions = ints(rows.positions);
  table = ints(rows.block_table);
  table_stride = rows.block_table.strides()[0];
  scale = options.scale;
  soft_cap = options.soft_cap;
  window = options.window;
  chunk = options.chunk;
  sinks = floats(options.sinks);
  slopes = floats(options.alibi_slopes);
  biases = floats(options.distance_bias);
  if (biases) distances = options.distance_bias.dim(1);
}

namespace {

// Below this many products a second thread takes longer to wake than to help.
constexpr int64_t kInlineProducts = int64_t{1} << 17;
// Splits are computed side by side only if what they leave behind stays within this many floats.
constexpr int64_t kMostSplitFloats = int64_t{1} << 24;

struct Items {
  PagedItem* items;
  int64_t count = 0;
  int64_t products = 0;      // multiply-adds of one key head
  int64_t splits = 0;        // of all items together
  int64_t split_floats = 0;  // PagedSums of all splits of one key head
};

Items collect(const PagedPlan& plan, int64_t sequences) {
  Items all{};
  for (int64_t s = 0; s < sequences; ++s) {
    all.count += split_evenly((plan.row_starts[s + 1] - plan.row_starts[s]) * plan.group, kPagedMostRows).parts;
  }
  all.items = scratch<PagedItem, struct PagedItems>(all.count);
  all.count = 0;
  for (int64_t s = 0; s < sequences; ++s) {
    const int64_t rows = (plan.row_starts[s + 1] - plan.row_starts[s]) * plan.group;
    const EvenSplit parts = split_evenly(rows, kPagedMostRows);
    for (int64_t p = 0; rows > 0 && p < parts.parts; ++p) {
      const PagedItem item{s, parts.begin(p), parts.length(p)};
      const int64_t splits = item.end_split(plan) - item.first_split(plan);
      all.products += item.row_count * (item.end_key(plan) - item.first_key(plan)) * (plan.dim + plan.value_dim);
      all.splits += splits;
      all.split_floats += splits * PagedSums::size(plan, item.row_count);
      all.items[all.count++] = item;
    }
  }
  return all;
}

// The last rows of a prompt have most to do: they come first.
void run(const PagedPlan& plan, const PagedTask* tasks, int64_t count, bool inline_only) {
  parallel_for(count, inline_only ? count : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) paged_task(plan, tasks[count - 1 - i]);
  });
}

// Few rows take several key heads at a time, which lie side by side in the pool, as far as threads do not go idle.
int64_t heads_at_once(const PagedPlan& plan, const PagedItem& item, int64_t units, int64_t threads) {
  if (item.row_count > kPagedFewPanels * kPagedPanelRows) return 1;
  if (threads == 1) return plan.kv_heads;
  return std::clamp<int64_t>(plan.kv_heads * units / (2 * threads), 1, plan.kv_heads);
}

// Too few items for the threads, but long ones.
void run_splits(const PagedPlan& plan, const Items& all, int64_t threads) {
  auto* tasks = scratch<PagedTask, struct PagedTasks>((all.splits + all.count) * plan.kv_heads);
  float* memory = scratch<float, struct PagedSplits>(all.split_floats * plan.kv_heads);
  PagedTask *next = tasks, *joins = tasks + all.splits * plan.kv_heads;
  for (int64_t i = 0; i < all.count; ++i) {
    const PagedItem& item = all.items[i];
    const int64_t heads = heads_at_once(plan, item, all.splits, threads), splits = item.end_split(plan);
    for (int64_t h = 0; h < plan.kv_heads; ++h) {
      joins[i * plan.kv_heads + h] = {&item, h, 1, 0, memory + h * all.split_floats, 0};
    }
    for (int64_t split = item.first_split(plan); split < splits; ++split) {
      for (int64_t h = 0; h < plan.kv_heads; h += heads) {
        const int64_t count = std::min(heads, plan.kv_heads - h);
        *next++ = {&item, h, count, split, memory + h * all.split_floats, all.split_floats};
      }
      memory += PagedSums::size(plan, item.row_count);
    }
  }
  run(plan, tasks, next - tasks, false);
  parallel_for(all.count * plan.kv_heads, plan.kv_heads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) paged_join(plan, joins[i]);
  });
}

}  // namespace

void paged_attention(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows,
                     const PagedAttentionOptions& options, const Tensor& out) {
  const PagedPlan plan(query, blocks, rows, options, out);
  const Items all = collect(plan, rows.positions.dim(0));
  const bool small = all.products * plan.kv_heads < kInlineProducts;
  const int64_t threads = small ? 1 : ThreadPool::instance().size();
  if (threads > 1 && all.count < 2 * threads && all.splits > all.count &&
      all.split_floats * plan.kv_heads <= kMostSplitFloats) {
    return run_splits(plan, all, threads);
  }
  auto* tasks = scratch<PagedTask, struct PagedTasks>(all.count * plan.kv_heads);
  PagedTask* next = tasks;
  for (int64_t i = 0; i < all.count; ++i) {
    const int64_t heads = heads_at_once(plan, all.items[i], all.count, threads);
    for (int64_t h = 0; h < plan.kv_heads; h += heads) {
      *next++ = {&all.items[i], h, std::min(heads, plan.kv_heads - h)};
    }
  }
  run(plan, tasks, next - tasks, small);
}

}  // namespace wick::cpu
