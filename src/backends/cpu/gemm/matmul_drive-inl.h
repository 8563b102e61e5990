// The loops around both matmul kernels: blocks of rows are packed once, then every block meets every chunk of columns.
// Included once per target.
#if defined(WICK_BACKENDS_CPU_MATMUL_DRIVE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_BACKENDS_CPU_MATMUL_DRIVE_INL_H
#undef WICK_BACKENDS_CPU_MATMUL_DRIVE_INL_H
#else
#define WICK_BACKENDS_CPU_MATMUL_DRIVE_INL_H
#endif

#include "backends/cpu/gemm/matmul_pack-inl.h"
#include "backends/cpu/gemm/matmul_plan.h"
#include "backends/cpu/scratch.h"
#include "base/thread_pool.h"

HWY_BEFORE_NAMESPACE();
namespace wick::HWY_NAMESPACE {

using cpu::kSumBlock;
using cpu::MatmulPlan;

// Packed rows kept at a time, in bytes; more rows are done in turns.
inline constexpr int64_t kPackedRowBytes = int64_t{16} << 20;

// A block of rows of a against a chunk of columns of b.
template <typename Acc>
struct MatmulTask {
  const Acc* rows;     // packed: per sum block, per panel
  int64_t row_count;   // panels are split_evenly(row_count, panel_rows)
  const std::byte* b;  // of this batch
  int64_t column, column_count;
  Acc* out;  // [row_count, column_count], overwritten
  int64_t out_stride;
};

// Kernel: kPanelRows, kColumnUnit, block_rows(plan), chunk_columns(plan, row blocks), packed_length(k) per row,
// pack(type, source, plan, rows, to) and run(plan, task).
template <typename Acc, class Kernel>
void DriveMatmul(const MatmulPlan& plan) {
  const cpu::EvenSplit row_blocks = cpu::split_evenly(plan.m, Kernel::block_rows(plan));
  const int64_t units = plan.batches * row_blocks.parts, unit_rows = row_blocks.length(0);
  const int64_t unit_size = unit_rows * Kernel::packed_length(plan.k);
  const int64_t at_once = std::clamp<int64_t>(kPackedRowBytes / sizeof(Acc) / unit_size, 1, units);
  const int64_t chunk = Kernel::chunk_columns(plan, std::min(units, at_once));
  const int64_t chunks = (plan.n + chunk - 1) / chunk;
  const bool direct = plan.out_type == dtype_of<Acc>();
  Acc* const packed = cpu::scratch<Acc, struct MatmulRows>(unit_size * at_once);
  for (int64_t first = 0; first < units; first += at_once) {
    const int64_t count = std::min(at_once, units - first);
    parallel_for(count, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t u = begin; u < end; ++u) {
        const int64_t block = (first + u) % row_blocks.parts;
        Kernel::pack(plan, plan.a_at((first + u) / row_blocks.parts), row_blocks.begin(block), row_blocks.length(block),
                     packed + u * unit_size);
      }
    });
    // Row blocks vary fastest, so that a chunk of b is still near when the next block needs it.
    parallel_for(count * chunks, 1, [&](int64_t begin, int64_t end) HWY_ATTR {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t u = t % count, batch = (first + u) / row_blocks.parts, block = (first + u) % row_blocks.parts;
        MatmulTask<Acc> task;
        task.rows = packed + u * unit_size, task.row_count = row_blocks.length(block);
        task.b = plan.b_at(batch);
        task.column = t / count * chunk, task.column_count = std::min(chunk, plan.n - task.column);
        const int64_t place = row_blocks.begin(block) * plan.n + task.column;
        if (direct) {
          task.out = reinterpret_cast<Acc*>(plan.out_at(batch)) + place;
          task.out_stride = plan.n;
          Kernel::run(plan, task);
          continue;
        }
        task.out_stride = task.column_count;
        task.out = cpu::scratch<Acc, struct MatmulOutput>(task.row_count * task.column_count);
        Kernel::run(plan, task);
        if constexpr (std::is_same_v<Acc, float>) {
          const auto store = [&](auto* out) HWY_ATTR {
            StoreRows(task.out, task.out_stride, task.row_count, task.column_count, out + place, plan.n);
          };
          if (plan.out_type == DType::kF16) {
            store(reinterpret_cast<Half*>(plan.out_at(batch)));
          } else {
            store(reinterpret_cast<BFloat16*>(plan.out_at(batch)));
          }
        }
      }
    });
  }
}

// Threads worth waking: products of a few microseconds are done before a second thread has begun.
inline int64_t UsefulThreads(const MatmulPlan& plan) {
  const int64_t b_size = plan.n * plan.k;
  if (b_size <= int64_t{1} << 14 && plan.batches * plan.m * b_size <= int64_t{1} << 19) return 1;
  return ThreadPool::instance().size();
}

// Columns per task: enough tasks to keep every thread busy to the end, no fewer than `least`, a multiple of `unit`.
inline int64_t ChunkColumns(const MatmulPlan& plan, int64_t row_blocks, int64_t unit, int64_t least, int64_t most) {
  const int64_t threads = UsefulThreads(plan);
  if (threads == 1) return std::min(RoundUp(plan.n, unit), most);
  const int64_t wanted_chunks = std::max<int64_t>(1, (8 * threads + row_blocks - 1) / row_blocks);
  return std::clamp(RoundUp((plan.n + wanted_chunks - 1) / wanted_chunks, unit), least, most);
}

// Drives Kernel<type of the sums, type of b>: f64 sums when either operand is f64, else f32.
template <template <typename, typename> class Kernel>
void RunMatmul(const MatmulPlan& plan) {
  cpu::visit_float(plan.b_type, [&](auto zero) HWY_ATTR {
    using T = decltype(zero);
    if (plan.out_type == DType::kF64) return DriveMatmul<double, Kernel<double, T>>(plan);
    if constexpr (!std::is_same_v<T, double>) DriveMatmul<float, Kernel<float, T>>(plan);
  });
}

}  // namespace wick::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
