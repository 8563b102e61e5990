#include "backends/cuda/launch.cuh"
#include "backends/cuda/matmul_plan.h"
#include "backends/cuda/mma.cuh"

// The large tiles of matmul_tiles with the instructions of Hopper, which read both sides from shared memory. Products
// are added up in the same order, to the same bits.
namespace wick::cuda {
namespace {

#if defined(__CUDA_ARCH_FEAT_SM90_ALL) || !defined(__CUDA_ARCH__)
#define WICK_HOPPER 1
#endif

constexpr int kTile = 128, kDepth = 64, kStages = 6, kThreadCount = 256;
constexpr int kSideBytes = kTile * kDepth * 2, kStageBytes = 2 * kSideBytes, kAlignment = 1024;
constexpr int kBytes = kStages * kStageBytes + kAlignment;

struct HopperJob {
  const void *x, *w;
  void* out;
  const float *bias, *residual;
  int64_t m, n, k, ld;
  bool out_f32;
};

#if WICK_HOPPER
// Rows of 128 bytes, their 16-byte chunks turned by the row (the 128-byte swizzle), 8 rows after 1024 bytes.
__device__ __forceinline__ uint64_t describe(uint32_t address) {
  return (uint64_t{address} & 0x3ffff) >> 4 | uint64_t{1} << 16 | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 62;
}

// sum [64, 128] of four warps (+)= a [64, 16] x b [128, 16]^T, in the background.
template <typename T>
__device__ __forceinline__ void multiply_async(float (&sum)[64], uint64_t a, uint64_t b, bool keep) {
  if constexpr (std::is_same_v<T, __half>) {
    asm volatile(
        "{ .reg .pred keep; setp.ne.b32 keep, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, keep, 1, 1, 0, 0; }\n"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
          "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
          "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]),
          "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]),
          "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]), "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]),
          "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]),
          "+f"(sum[42]), "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]),
          "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),
          "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]),
          "+f"(sum[63])
        : "l"(a), "l"(b), "r"(keep ? 1 : 0));
  } else {
    asm volatile(
        "{ .reg .pred keep; setp.ne.b32 keep, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, keep, 1, 1, 0, 0; }\n"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3]), "+f"(sum[4]), "+f"(sum[5]), "+f"(sum[6]),
          "+f"(sum[7]), "+f"(sum[8]), "+f"(sum[9]), "+f"(sum[10]), "+f"(sum[11]), "+f"(sum[12]), "+f"(sum[13]),
          "+f"(sum[14]), "+f"(sum[15]), "+f"(sum[16]), "+f"(sum[17]), "+f"(sum[18]), "+f"(sum[19]), "+f"(sum[20]),
          "+f"(sum[21]), "+f"(sum[22]), "+f"(sum[23]), "+f"(sum[24]), "+f"(sum[25]), "+f"(sum[26]), "+f"(sum[27]),
          "+f"(sum[28]), "+f"(sum[29]), "+f"(sum[30]), "+f"(sum[31]), "+f"(sum[32]), "+f"(sum[33]), "+f"(sum[34]),
          "+f"(sum[35]), "+f"(sum[36]), "+f"(sum[37]), "+f"(sum[38]), "+f"(sum[39]), "+f"(sum[40]), "+f"(sum[41]),
          "+f"(sum[42]), "+f"(sum[43]), "+f"(sum[44]), "+f"(sum[45]), "+f"(sum[46]), "+f"(sum[47]), "+f"(sum[48]),
          "+f"(sum[49]), "+f"(sum[50]), "+f"(sum[51]), "+f"(sum[52]), "+f"(sum[53]), "+f"(sum[54]), "+f"(sum[55]),
          "+f"(sum[56]), "+f"(sum[57]), "+f"(sum[58]), "+f"(sum[59]), "+f"(sum[60]), "+f"(sum[61]), "+f"(sum[62]),
          "+f"(sum[63])
        : "l"(a), "l"(b), "r"(keep ? 1 : 0));
  }
}

// One thread's part in copying 128 rows of 64 columns: 16 bytes of every 32nd row.
template <typename T>
struct RowCopy {
  static constexpr int kCount = kTile * 8 / kThreadCount, kStep = kThreadCount / 8;
  const T *base, *source;  // where there is always something to read; the first row's chunk
  int64_t step;            // elements from one of its rows to the next
  int rows, column;        // how many of its rows there are; the chunk's first column
  uint32_t place;

  __device__ RowCopy(const T* from, int64_t row_count, int64_t first_row, int64_t ld) : base(from) {
    const int row = threadIdx.x / 8, chunk = threadIdx.x % 8;
    column = chunk * 8;
    source = from + (first_row + row) * ld + column;
    step = kStep * ld;
    const int64_t left = row_count - first_row - row;
    rows = left <= 0 ? 0 : static_cast<int>(min(int64_t{kCount}, (left + kStep - 1) / kStep));
    place = static_cast<uint32_t>(row * 128 + (chunk ^ (row & 7)) * 16);
  }
  __device__ __forceinline__ void start(uint32_t stage, int first_column, int end) const {
    const bool inside = first_column + column < end;
    const T* from = source + first_column;
#pragma unroll
    for (int i = 0; i < kCount; ++i, from += step) {
      const bool valid = inside && i < rows;
      copy_async(stage + place + static_cast<uint32_t>(i * kStep * 128), valid ? from : base, valid);
    }
  }
};
#endif

template <typename T>
__global__ void __launch_bounds__(kThreadCount, 1) hopper_kernel(const __grid_constant__ HopperJob job) {
#if WICK_HOPPER
  extern __shared__ char memory[];
  const uint32_t base = (shared_address(memory) + kAlignment - 1) / kAlignment * kAlignment;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, group = warp / 4;
  const int64_t first_m = int64_t{blockIdx.x} * kTile, first_n = int64_t{blockIdx.y} * kTile;
  const int stages = static_cast<int>((job.k + kDepth - 1) / kDepth);
  const int per_part = static_cast<int>(part_size(job.k) / kDepth);
  const auto columns = static_cast<int>(job.k);
  const RowCopy<T> rows(static_cast<const T*>(job.x), job.m, first_m, job.k);
  const RowCopy<T> weights(static_cast<const T*>(job.w), job.n, first_n, job.ld);
  const auto start_stage = [&](int stage) {
    if (stage < stages) {
      const uint32_t place = base + static_cast<uint32_t>(stage % kStages * kStageBytes);
      rows.start(place, stage * kDepth, columns);
      weights.start(place + kSideBytes, stage * kDepth, columns);
    }
    commit_copies();
  };
  // A stage is filled again two rounds after it was read, when all warps are known to be done with it.
  for (int stage = 0; stage < kStages - 2; ++stage) start_stage(stage);

  float sum[64], total[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) sum[i] = total[i] = 0;
  for (int first = 0; first < stages; first += per_part) {
    const int last = min(stages, first + per_part);
    for (int stage = first; stage < last; ++stage) {
      wait_copies<kStages - 3>();
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      __syncthreads();
      const uint32_t place = base + static_cast<uint32_t>(stage % kStages * kStageBytes);
      const uint64_t x = describe(place + static_cast<uint32_t>(group * kSideBytes / 2));
      const uint64_t w = describe(place + kSideBytes);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
      for (int step = 0; step < kDepth / 16; ++step) {
        multiply_async<T>(sum, x + static_cast<uint64_t>(step * 2), w + static_cast<uint64_t>(step * 2),
                          stage > first || step > 0);
      }
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      start_stage(stage + kStages - 2);
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
    for (int i = 0; i < 64; ++i) total[i] += sum[i];
  }
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    const int64_t row = first_m + warp * 16 + lane / 4 + i % 4 / 2 * 8;
    const int64_t col = first_n + i / 4 * 8 + lane % 4 * 2 + i % 2;
    if (row >= job.m || col >= job.n) continue;
    const int64_t at = row * job.n + col;
    float result = total[i];
    if (job.bias) result += job.bias[col];
    if (job.residual) result += job.residual[at];
    if (job.out_f32) {
      static_cast<float*>(job.out)[at] = result;
    } else {
      static_cast<T*>(job.out)[at] = to<T>(result);
    }
  }
#endif
}

template <typename T>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  allow_shared<hopper_kernel<T>>(device, kBytes);
  for (int i = 0; i < plan.count; ++i) {
    const WeightJob& job = plan.jobs[i];
    const dim3 grid(blocks_for(plan.m, kTile), blocks_for(job.n, kTile));
    hopper_kernel<T>
        <<<grid, kThreadCount, kBytes, use.stream>>>({plan.x, job.weights, job.out, job.bias, job.residual, plan.m,
                                                      job.n, plan.k, plan.ld, plan.out_dtype == DType::kF32});
    check_launch(device, "matmul");
  }
}

}  // namespace

void multiply_hopper(Device device, const WeightPlan& plan) {
  plan.dtype == DType::kF16 ? launch<__half>(device, plan) : launch<__nv_bfloat16>(device, plan);
}

}  // namespace wick::cuda
