#include "backends/cuda/quant/packed_planes.cuh"
#include "backends/cuda/quant/packed_product.cuh"

namespace wick::cuda {
namespace {

// Two times four columns of lane t in group 2j + u; together where they are neighbours.
template <Order kOrder, typename Word>
__device__ __forceinline__ void put_words(char* to, int j, int u, int t, Word first, Word second) {
  constexpr int kBytes = sizeof(Word) / 4;  // of a column
  struct alignas(2 * sizeof(Word)) Pair {
    Word first, second;
  };
  char* const place = to + column_of_word(kOrder, j, u, t, 0) * kBytes;
  if constexpr (kOrder == Order::kEight) {
    *reinterpret_cast<Pair*>(place) = {first, second};
  } else {
    *reinterpret_cast<Word*>(place) = first;
    *reinterpret_cast<Word*>(to + column_of_word(kOrder, j, u, t, 1) * kBytes) = second;
  }
}

// 16 lanes make a row's super-block: lane t of pair j of groups.
template <typename Block>
__global__ void __launch_bounds__(kThreads)
    unpack_kernel(const __grid_constant__ WeightPlan plan, int job, int64_t rows, char* planes,
                  TileScalesOf<Codes<Block>>* tile_scales) {
  using Format = Codes<Block>;
  constexpr int kBytes = kCodeBytes<Format::kBy32>, kMinima = kMinimaOf<Format>;
  const auto k = static_cast<int>(plan.k);
  const int super_blocks = super_blocks_of(k), lane = threadIdx.x % 16, t = lane % 4, j = lane / 4;
  const int64_t at = (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 16;
  if constexpr (Format::kCodebookBytes > 0) {
    Format::fetch_codebook(plan.codebook, threadIdx.x, kThreads);
    __syncthreads();
  }
  const WeightJob& from = plan.jobs[job];
  if (at >= from.n * super_blocks) return;
  const int64_t row = at / super_blocks, super_block = at % super_blocks, place = plane_row(plan, job, row);
  const auto row_in_tile = static_cast<int>(place % kPlaneTile);
  auto& tile = tile_scales[super_block * (rows / kPlaneTile) + place / kPlaneTile];
  const uint8_t* block = static_cast<const uint8_t*>(from.weights) + row * plan.ld + super_block * Format::kBytes;
  char* const to = planes + (place * super_blocks + super_block) * kSuperBlock * kBytes;
  const int left = (k - static_cast<int>(super_block) * kSuperBlock) / 32;
  if constexpr (Format::kBy32) {
    if (2 * j >= left) {
      for (int i = 0; i < 2; ++i) *reinterpret_cast<uint4*>(to + (j * 64 + t * 16) * kBytes + i * 16) = {0, 0, 0, 0};
      if (t < 2) {
        tile.steps[j * 2 + t][scale_place(row_in_tile)] = 0;
        if constexpr (kMinima > 0) tile.mins[j * 2 + t][scale_place(row_in_tile)] = 0;
      }
      return;
    }
  }
  const auto of = Format::template scales<false>(block, left);
  uint32_t raw[Format::kWords];
  Format::template load<false>(block, j, t, raw);
#pragma unroll
  for (int u = 0; u < 2; ++u) {
    const uint2 both = Format::codes(raw, j, u, of);
    const int group = 2 * j + u;
    if constexpr (Format::kBy32) {
      const bool is_there = group < left;
      put_words<Format::kOrder>(to, j, u, t, is_there ? halves_of(both.x) : uint2{0, 0},
                                is_there ? halves_of(both.y) : uint2{0, 0});
      if (t == 0) {
        tile.steps[group][scale_place(row_in_tile)] = of.step(group);
        if constexpr (kMinima > 0) tile.mins[group][scale_place(row_in_tile)] = of.other(group);
      }
    } else {
      uint32_t low[2], high[2];
#pragma unroll
      for (int w = 0; w < 2; ++w) {
        const int step = of.step(Format::Scales::kSteps == 2 ? group * 2 + w : group);
        uint32_t few[4], many[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const uint32_t codes = w ? both.y : both.x;
          const int weight =
              step * ((Format::kSigned ? signed_byte_at(codes, i) : byte_at(codes, i)) - Format::kOffset);
          few[i] = static_cast<uint32_t>(weight & 63);
          many[i] = static_cast<uint32_t>(weight >> 6);
        }
        low[w] = pack_bytes(few[0], few[1], few[2], few[3]);
        high[w] = pack_bytes(many[0], many[1], many[2], many[3]);
      }
      put_words<Format::kOrder>(to, j, u, t, low[0], low[1]);
      put_words<Format::kOrder>(to + rows * super_blocks * kSuperBlock, j, u, t, high[0], high[1]);
    }
  }
  if constexpr (!Format::kBy32) {
    if (lane == 0) tile.scales[row_in_tile] = {of.scale, of.min_scale};
    if constexpr (kMinima > 0) {
      if (lane < kMinima) tile.mins[row_in_tile][lane] = __int2half_rn(of.min(lane));
    }
  }
}

}  // namespace

void unpack_planes(Device device, const WeightPlan& plan, int64_t rows, char* planes, char* tile_scales) {
  visit_packed(plan.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Codes<Block>::kKnown) {
      for (int i = 0; i < plan.count; ++i) {
        const int64_t lanes = plan.jobs[i].n * super_blocks_of(plan.k) * 16;
        if (lanes == 0) continue;
        unpack_kernel<Block><<<blocks_for(lanes), kThreads, 0, runtime(device).stream>>>(
            plan, i, rows, planes, reinterpret_cast<TileScalesOf<Codes<Block>>*>(tile_scales));
        check_launch(device, "matmul");
      }
    }
  });
}

}  // namespace wick::cuda
