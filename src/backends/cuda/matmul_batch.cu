#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/hopper.cuh"
#include "backends/cuda/matmul_mapped.cuh"

// Up to 64 rows of x on Hopper. The weights are the side of the tensor cores that has 64 rows, so that few rows of x
// waste nothing; the copy engine keeps the memory busy. k is shared out among the blocks of a cluster.
namespace wick::cuda {
namespace {

constexpr int kGroups = 2;                        // of four warps that multiply; one more warp fetches
constexpr int kThreadCount = kGroups * 128 + 32;
constexpr int kSliceRows = 64, kSliceBytes = kSliceRows * 128;

// A tile of kSlices x 64 rows of weights against kTokens rows of x by a cluster: kSplit blocks share its k. kShare tiles
// are computed side by side, and their blocks fetch x together. kBlocks blocks run on a multiprocessor.
template <int kTokens, int kSlices, int kSplit, int kShare, int kBlocks>
struct BatchShape {
  static constexpr int tokens = kTokens, slices = kSlices, split = kSplit, share = kShare, blocks = kBlocks;
  static constexpr int rows = kSlices * kSliceRows, cluster = kSplit * kShare;
  static constexpr int group_slices = kSlices / kGroups;
  static constexpr int parts = kParts / kSplit;             // of k, for a block
  static constexpr int kept = kSplit == 1 ? 1 : parts;      // sums that leave the registers: of each part, or all
  static constexpr int weight_bytes = kSlices * kSliceBytes, x_bytes = kTokens * 128;
  static constexpr int stage_bytes = weight_bytes + x_bytes;
  static constexpr int room = kBlocks == 1 ? 224 * 1024 : 111 * 1024;
  static constexpr int stages = room / stage_bytes;
  static constexpr int pitch = rows + 4;  // floats from token to token of the sums, so that a warp meets each bank once
  static constexpr int kept_bytes = kept * kTokens * pitch * 4;
  static constexpr int ring_bytes = stages * stage_bytes;
  static constexpr int bytes = kSwizzleBytes + (ring_bytes > kept_bytes ? ring_bytes : kept_bytes);
  static_assert(bytes <= 227 * 1024 / kBlocks - 1024 && x_bytes / kShare % kSwizzleBytes == 0);
};

template <typename T, typename Shape>
__global__ void __launch_bounds__(kThreadCount, Shape::blocks) batch_kernel(const __grid_constant__ MappedPlan mapped) {
#if WICK_HOPPER
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * Shape::stages];
  const WeightPlan& plan = mapped.plan;
  const uint32_t ring = (shared_address(memory) + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes;
  const uint32_t full = shared_address(barriers), empty = full + Shape::stages * 8;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t rank = Shape::cluster > 1 ? cluster_rank() : 0, k_rank = rank % Shape::split;
  const uint32_t tile_rank = rank / Shape::split;
  const auto tile = static_cast<int>(blockIdx.x / Shape::cluster * Shape::share + tile_rank);
  const MappedTile place = mapped_tile<Shape::rows>(plan, tile);
  const auto k = static_cast<int>(plan.k), part = static_cast<int>(part_size(k));
  const int begin = min(k, static_cast<int>(k_rank) * Shape::parts * part);
  const int steps = (min(k, begin + Shape::parts * part) - begin + kBoxColumns - 1) / kBoxColumns;

  let_next_start();
  if (threadIdx.x == 0) {
    for (int i = 0; i < Shape::stages; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8, kGroups * 4 * Shape::share);  // a lane of each warp that reads what was fetched here
    }
    publish_barriers();
  }
  Shape::share > 1 ? sync_cluster() : __syncthreads();

  if (warp == kGroups * 4) {
    if (lane == 0) {
      const auto fetch_weights = [&](int step) {
        const uint32_t stage = step % Shape::stages, to = ring + stage * Shape::stage_bytes;
        arrive_and_expect(full + stage * 8, Shape::stage_bytes);
#pragma unroll
        for (int slice = 0; slice < Shape::slices; ++slice) {
          const bool up = plan.gated && slice >= Shape::slices / 2;
          const int row = place.first_row + (up ? slice - Shape::slices / 2 : slice) * kSliceRows;
          fetch_box(to + slice * kSliceBytes, mapped.weights[up ? 1 : place.job], row, begin + step * kBoxColumns,
                    full + stage * 8);
        }
      };
      const auto fetch_x = [&](int step) {
        const uint32_t stage = step % Shape::stages, to = ring + stage * Shape::stage_bytes + Shape::weight_bytes;
        if constexpr (Shape::share == 1) {
          fetch_box(to, mapped.x, 0, begin + step * kBoxColumns, full + stage * 8);
        } else {
          constexpr int kMine = Shape::tokens / Shape::share;
          uint32_t blocks = 0;
          for (int i = 0; i < Shape::share; ++i) blocks |= 1u << (i * Shape::split + k_rank);
          fetch_box_for(static_cast<uint16_t>(blocks), to + tile_rank * kMine * 128, mapped.x,
                        static_cast<int>(tile_rank) * kMine, begin + step * kBoxColumns, full + stage * 8);
        }
      };
      if (!plan.steady) wait_for_previous();
      const int ahead = min(steps, Shape::stages);
      for (int step = 0; step < ahead; ++step) fetch_weights(step);
      if (plan.steady) wait_for_previous();
      for (int step = 0; step < ahead; ++step) fetch_x(step);
      for (int step = ahead; step < steps; ++step) {
        wait_barrier(empty + step % Shape::stages * 8, step / Shape::stages % 2 ^ 1);
        fetch_weights(step);
        fetch_x(step);
      }
    }
    __syncwarp();
  } else {
    const int group = warp / 4, per_part = part / kBoxColumns;
    float sums[Shape::kept][Shape::group_slices][Shape::tokens / 2] = {};
    const auto release = [&](int step) {
      const uint32_t barrier = empty + step % Shape::stages * 8;
      if constexpr (Shape::share == 1) {
        if (lane == 0) arrive(barrier);
      } else {
        if (lane < Shape::share) arrive_at(in_block(barrier, lane * Shape::split + k_rank));
      }
    };
    // One part of k to `sum`, which is zero.
    const auto multiply_part = [&](int index, float (&sum)[Shape::group_slices][Shape::tokens / 2]) {
      const int last = min(steps, (index + 1) * per_part);
      int step = index * per_part;
      for (; step < last; ++step) {
        const uint32_t stage = step % Shape::stages, from = ring + stage * Shape::stage_bytes;
        wait_barrier(full + stage * 8, step / Shape::stages % 2);
        const uint64_t x = describe(from + Shape::weight_bytes);
        begin_products();
#pragma unroll
        for (int slice = 0; slice < Shape::group_slices; ++slice) {
          const uint64_t weights = describe(from + (group * Shape::group_slices + slice) * kSliceBytes);
#pragma unroll
          for (uint64_t i = 0; i < kBoxColumns / 16; ++i) {
            multiply_async<T, Shape::tokens>(sum[slice], weights + i * 2, x + i * 2, true);
          }
        }
        end_products();
        wait_products<0>();
        release(step);
      }
    };
    if constexpr (Shape::split == 1) {
#pragma unroll 1
      for (int i = 0; i < kParts; ++i) {
        float sum[Shape::group_slices][Shape::tokens / 2] = {};
        multiply_part(i, sum);
#pragma unroll
        for (int slice = 0; slice < Shape::group_slices; ++slice) {
#pragma unroll
          for (int e = 0; e < Shape::tokens / 2; ++e) sums[0][slice][e] += sum[slice][e];
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < Shape::parts; ++i) multiply_part(i, sums[i]);
    }
    // The ring becomes the place of the sums [kept, tokens, rows].
    asm volatile("bar.sync 1, %0;" ::"n"(kGroups * 128) : "memory");
    auto* kept = reinterpret_cast<float*>(memory + (ring - shared_address(memory)));
#pragma unroll
    for (int i = 0; i < Shape::kept; ++i) {
#pragma unroll
      for (int slice = 0; slice < Shape::group_slices; ++slice) {
        const int row = (group * Shape::group_slices + slice) * kSliceRows + warp % 4 * 16 + lane / 4;
#pragma unroll
        for (int e = 0; e < Shape::tokens / 2; ++e) {
          const int token = e / 4 * 8 + lane % 4 * 2 + e % 2;
          kept[(i * Shape::tokens + token) * Shape::pitch + row + e % 4 / 2 * 8] = sums[i][slice][e];
        }
      }
    }
  }
  Shape::cluster > 1 ? sync_cluster() : __syncthreads();

  // Each block of the tile adds up the parts of its share of the rows.
  wait_for_previous();
  const int row_count = (plan.gated ? Shape::rows / 2 : Shape::rows) / Shape::split, runs = row_count / 4;
  const auto total_of = [&](int token, int row, float (&total)[4]) {
    constexpr int kCount = Shape::split == 1 ? 1 : kParts;
    float4 parts[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const uint32_t at = ring + ((i % Shape::kept * Shape::tokens + token) * Shape::pitch + row) * 4;
      parts[i] = load_cluster(in_block(at, tile_rank * Shape::split + i / Shape::kept));
    }
    total[0] = total[1] = total[2] = total[3] = 0;
#pragma unroll
    for (const float4& of : parts) {
      total[0] += of.x;
      total[1] += of.y;
      total[2] += of.z;
      total[3] += of.w;
    }
  };
  for (int i = threadIdx.x; i < Shape::tokens * runs; i += kThreadCount) {
    const int token = i / runs, row = static_cast<int>(k_rank) * row_count + i % runs * 4;
    const Results<T, 4> results(mapped, place.job, token, place.first_row + row);
    if (!results.inside()) continue;
    float total[4], up[4];
    total_of(token, row, total);
    if (plan.gated) total_of(token, row + Shape::rows / 2, up);
    results.store(total, up);
  }
  if constexpr (Shape::cluster > 1) sync_cluster();  // nobody's memory goes while it is read
#endif
}

template <typename T, typename Shape>
void launch(Device device, const WeightPlan& plan) {
  const MappedPlan mapped = map_plan(device, plan, Shape::tokens / Shape::share, kSliceRows);
  allow_shared<batch_kernel<T, Shape>>(device, Shape::bytes);
  const int tiles = all_mapped_tiles<Shape::rows>(plan);
  const auto blocks = static_cast<unsigned>((tiles + Shape::share - 1) / Shape::share * Shape::cluster);
  launch_clusters(device, "matmul", batch_kernel<T, Shape>, blocks, Shape::cluster, kThreadCount, Shape::bytes, mapped);
}

}  // namespace
}  // namespace wick::cuda
