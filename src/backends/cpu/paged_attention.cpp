#include "ops/paged_attention.h"

#include "backends/cpu/kernels.h"
#include "backends/cpu/matmul_plan.h"
#include "backends/cpu/paged_plan.h"
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
  sinks = floats(options.sinks);
  slopes = floats(options.alibi_slopes);
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
  int64_t split_floats = 0;  // PagedSums of all splits
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

struct SplitTask {
  int64_t item, split;
  float* sums;  // of key head 0
};

// Too few items for the threads, but long ones.
void run_splits(const PagedPlan& plan, const Items& all) {
  auto* tasks = scratch<SplitTask, struct PagedTasks>(all.splits);
  float* memory = scratch<float, struct PagedSplits>(all.split_floats * plan.kv_heads);
  int64_t count = 0;
  for (int64_t i = 0; i < all.count; ++i) {
    const PagedItem& item = all.items[i];
    for (int64_t split = item.first_split(plan); split < item.end_split(plan); ++split) {
      tasks[count++] = {i, split, memory};
      memory += PagedSums::size(plan, item.row_count);
    }
  }
  parallel_for(count * plan.kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const SplitTask& task = tasks[i / plan.kv_heads];
      const int64_t kv_head = i % plan.kv_heads;
      paged_split(plan, all.items[task.item], kv_head, task.split, task.sums + kv_head * all.split_floats);
    }
  });
  parallel_for(count * plan.kv_heads, plan.kv_heads, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = i / plan.kv_heads, kv_head = i % plan.kv_heads;
      if (t > 0 && tasks[t - 1].item == tasks[t].item) continue;  // the item's first split joins them all
      paged_join(plan, all.items[tasks[t].item], kv_head, tasks[t].sums + kv_head * all.split_floats);
    }
  });
}

}  // namespace

void paged_attention(const Tensor& query, const KvBlocks& blocks, const PagedRows& rows,
                     const PagedAttentionOptions& options, const Tensor& out) {
  const PagedPlan plan(query, blocks, rows, options, out);
  const Items all = collect(plan, rows.positions.dim(0));
  const int64_t tasks = all.count * plan.kv_heads;
  const bool small = all.products * plan.kv_heads < kInlineProducts;
  const int64_t threads = ThreadPool::instance().size();
  if (!small && threads > 1 && tasks < 2 * threads && all.splits > all.count &&
      all.split_floats * plan.kv_heads <= kMostSplitFloats) {
    return run_splits(plan, all);
  }
  parallel_for(tasks, small ? tasks : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      // The last rows of a prompt have most to do: they come first.
      paged_rows(plan, all.items[all.count - 1 - i / plan.kv_heads], i % plan.kv_heads);
    }
  });
}

}  // namespace wick::cpu
