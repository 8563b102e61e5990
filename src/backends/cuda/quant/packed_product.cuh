#pragma once

#include "backends/cuda/gemm/weight_tiles.cuh"
#include "backends/cuda/quant/packed_plan.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"

// What the kernels that multiply packed weights as they are have in common. The tensor cores take 16 rows of weights at
// a time; of lane 4g + t: rows g and g + 8.
namespace wick::cuda {

inline constexpr int kRows = 16;

// 256 weights of each of 16 rows in shared memory.
template <typename Block>
struct Stage {
  static constexpr int kBytes = Codes<Block>::kBytes;
  // Of a row; one that starts anywhere within 16 bytes brings up to 30 more. 16 bytes that nobody reads put rows that
  // are read together into different banks.
  static constexpr int kPitch =
      Codes<Block>::kWhole ? (kBytes % 32 ? kBytes + 16 : kBytes + 32) : (kBytes + 15 + 15) / 16 * 16;
  static constexpr int kTotal = kRows * kPitch;
};

// How far behind a multiple of 16 a row's blocks begin in memory, and thus in a stage.
template <typename Block>
__device__ __forceinline__ int low_bits(const uint8_t* row) {
  return Codes<Block>::kWhole ? 0 : static_cast<int>(reinterpret_cast<uintptr_t>(row) & 15);
}

// Four lanes t copy a row's blocks, in chunks of 16 bytes at their own alignment: up to 15 bytes before and behind them
// come along, all within the matrix's memory.
template <typename Block>
__device__ __forceinline__ void copy_row(const uint8_t* row, uint32_t place, int bytes, int t) {
  constexpr bool kWhole = Codes<Block>::kWhole;
  constexpr int kChunks = kWhole ? Stage<Block>::kBytes / 16 : Stage<Block>::kPitch / 16, kCopies = (kChunks + 3) / 4;
  const int shift = low_bits<Block>(row), until = shift + bytes - t * 16;
  const uint8_t* from = row - shift + t * 16;
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const bool inside = kWhole ? i * 4 + 3 < kChunks || i * 4 + t < kChunks : i * 64 < until;
    if (inside) copy_async(place + static_cast<uint32_t>(t * 16 + i * 64), from + i * 64);
  }
}

// Of a row's super-block by 256, as one number: the sum of steps times codes, and of minima times sums of codes of x.
__device__ __forceinline__ float less_minima(float sum, float scale, float minima, float min_scale) {
  return __fmaf_rn(sum, scale, -__fmul_rn(minima, min_scale));
}
// The same, or with what sums of codes are multiplied with because codes count from kOffset on.
template <typename Format>
__device__ __forceinline__ float super_block_value(int sum, int of_sums, float scale, float min_scale) {
  if constexpr (Format::kOffset != 0 || !Format::kUsesSums) {
    return __fmul_rn(static_cast<float>(sum - of_sums * Format::kOffset), scale);
  } else {
    return less_minima(static_cast<float>(sum), scale, static_cast<float>(of_sums), min_scale);
  }
}
// What a group by 32 adds.
template <typename Format>
__device__ __forceinline__ float add_group(float sum, int of_codes, float step, float x_scale, float least,
                                           float x_sum) {
  sum = __fmaf_rn(static_cast<float>(of_codes), __fmul_rn(step, x_scale), sum);
  if constexpr (Format::kSums > 0) sum = __fmaf_rn(least, x_sum, sum);
  return sum;
}

// The operand of the tensor cores for group 2j + u.
template <typename Format>
__device__ __forceinline__ void rows_of_codes(uint32_t (&a)[4], const uint32_t (&upper)[Format::kWords],
                                              const uint32_t (&lower)[Format::kWords], int j, int u,
                                              const typename Format::Scales& upper_scales,
                                              const typename Format::Scales& lower_scales) {
  const uint2 up = Format::codes(upper, j, u, upper_scales), low = Format::codes(lower, j, u, lower_scales);
  a[0] = up.x;
  a[1] = low.x;
  a[2] = up.y;
  a[3] = low.y;
}

// sum += 16 kRowTiles rows of weights x 8 kTiles rows of x, over a super-block. Of lane 4g + t: rows[i] is row g + 8i
// of the weights, x where row g of x has what lane t needs; each 8 rows of x are tile_bytes apart. scales_of(i): those
// of row i of x. `left`: groups that are there.
template <typename Format, bool kAligned, int kRowTiles, int kTiles, typename ScalesOf>
__device__ __forceinline__ void multiply_super_block(float (&sum)[kRowTiles][kTiles][4],
                                                     const uint8_t* const (&rows)[2 * kRowTiles], int left, int g,
                                                     int t, const char* x, int tile_bytes, const ScalesOf& scales_of) {
  typename Format::Scales of[2 * kRowTiles];
#pragma unroll
  for (int i = 0; i < 2 * kRowTiles; ++i) of[i] = Format::template scales<kAligned>(rows[i], left);
  int total[kRowTiles][kTiles][4] = {};  // of formats by 256
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    uint32_t a[2][kRowTiles][4];
    float steps[2][2 * kRowTiles], others[2][2 * kRowTiles];  // of formats by 32
    if constexpr (Format::kBy32) {
#pragma unroll
      for (int i = 0; i < 4 * kRowTiles; ++i) {
        const auto& row = of[i / 2];
        steps[i % 2][i / 2] = row.step(2 * j + i % 2);
        if constexpr (Format::kSums > 0) others[i % 2][i / 2] = row.other(2 * j + i % 2);
      }
    }
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      uint32_t upper[Format::kWords], lower[Format::kWords];
      Format::template load<kAligned>(rows[2 * r], j, t, upper);
      Format::template load<kAligned>(rows[2 * r + 1], j, t, lower);
#pragma unroll
      for (int u = 0; u < 2; ++u) rows_of_codes<Format>(a[u][r], upper, lower, j, u, of[2 * r], of[2 * r + 1]);
    }
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const uint4 words = *reinterpret_cast<const uint4*>(x + tile * tile_bytes + j * 64);
      const uint32_t b[2][2] = {{words.x, words.y}, {words.z, words.w}};
#pragma unroll
      for (int u = 0; u < 2; ++u) {
        const int group = 2 * j + u;
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          if constexpr (Format::kBy32) {
            int part[4] = {};
            mma_bytes<Format::kSigned>(part, a[u][r], b[u][0], b[u][1]);
#pragma unroll
            for (int e = 0; e < 4; ++e) {
              const auto* scales = scales_of(tile * 8 + 2 * t + e % 2);
              const int row = 2 * r + e / 2;
              sum[r][tile][e] = add_group<Format>(sum[r][tile][e], part[e], steps[u][row], scales->scales[group],
                                                  Format::kSums > 0 ? others[u][row] : 0.0f, scales->sum(group));
            }
          } else if constexpr (Format::Scales::kSteps == 1) {
            int part[4] = {};
            mma_bytes<Format::kSigned>(part, a[u][r], b[u][0], b[u][1]);
#pragma unroll
            for (int e = 0; e < 4; ++e) total[r][tile][e] += of[2 * r + e / 2].step(group) * part[e];
          } else {
#pragma unroll
            for (int w = 0; w < 2; ++w) {
              int part[4] = {};
              mma_half_bytes(part, a[u][r][2 * w], a[u][r][2 * w + 1], b[u][w]);
#pragma unroll
              for (int e = 0; e < 4; ++e) total[r][tile][e] += of[2 * r + e / 2].step(group * 2 + w) * part[e];
            }
          }
        }
      }
    }
  }
  if constexpr (!Format::kBy32) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const float x_scales[2] = {scales_of(tile * 8 + 2 * t)->scale, scales_of(tile * 8 + 2 * t + 1)->scale};
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        int few[4] = {}, many[4] = {};
        if constexpr (Format::kUsesSums) {
          const auto* sums = scales_of(tile * 8 + g);
          const uint32_t upper = of[2 * r].of_sums(t), lower = of[2 * r + 1].of_sums(t);
          mma_half_bytes(few, upper, lower, sums->low[t % (Format::kSums / 4)]);
          mma_half_bytes(many, upper, lower, sums->high[t % (Format::kSums / 4)]);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          const auto& row = of[2 * r + e / 2];
          const float value =
              super_block_value<Format>(total[r][tile][e], few[e] + many[e] * 64, row.scale, row.min_scale);
          sum[r][tile][e] = __fmaf_rn(value, x_scales[e % 2], sum[r][tile][e]);
        }
      }
    }
  }
}

// The same for one row of x of which the tensor cores see 8 super-blocks at once, in the columns of their second
// operand. Row g of the first is of the super-block in column 2 (g % 4), row g + 8 of that in the next column, and only
// results of one super-block count: sum[0] and sum[1] of lanes t = g % 4. x: the super-block of column g.
template <typename Format, bool kAligned>
__device__ __forceinline__ void multiply_diagonal(float (&sum)[2], const uint8_t* upper, const uint8_t* lower, int t,
                                                  const char* x, const InputScalesOf<Format>& upper_x,
                                                  const InputScalesOf<Format>& lower_x) {
  constexpr int kGroups = kSuperBlock / 32;
  constexpr int kOwn[2] = {0, 3};  // of the four results of a lane
  const typename Format::Scales of[2] = {Format::template scales<kAligned>(upper, kGroups),
                                         Format::template scales<kAligned>(lower, kGroups)};
  const InputScalesOf<Format>* const x_scales[2] = {&upper_x, &lower_x};
  int total[2] = {};
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    uint32_t up[Format::kWords], low[Format::kWords];
    Format::template load<kAligned>(upper, j, t, up);
    Format::template load<kAligned>(lower, j, t, low);
    const uint4 words = *reinterpret_cast<const uint4*>(x + j * 64);
    const uint32_t b[2][2] = {{words.x, words.y}, {words.z, words.w}};
#pragma unroll
    for (int u = 0; u < 2; ++u) {
      const int group = 2 * j + u;
      uint32_t a[4];
      rows_of_codes<Format>(a, up, low, j, u, of[0], of[1]);
      if constexpr (Format::kBy32) {
        int part[4] = {};
        mma_bytes<Format::kSigned>(part, a, b[u][0], b[u][1]);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          sum[r] = add_group<Format>(sum[r], part[kOwn[r]], of[r].step(group), x_scales[r]->scales[group],
                                     Format::kSums > 0 ? of[r].other(group) : 0.0f, x_scales[r]->sum(group));
        }
      } else if constexpr (Format::Scales::kSteps == 1) {
        int part[4] = {};
        mma_bytes<Format::kSigned>(part, a, b[u][0], b[u][1]);
#pragma unroll
        for (int r = 0; r < 2; ++r) total[r] += of[r].step(group) * part[kOwn[r]];
      } else {
#pragma unroll
        for (int w = 0; w < 2; ++w) {
          int part[4] = {};
          mma_half_bytes(part, a[2 * w], a[2 * w + 1], b[u][w]);
#pragma unroll
          for (int r = 0; r < 2; ++r) total[r] += of[r].step(group * 2 + w) * part[kOwn[r]];
        }
      }
    }
  }
  if constexpr (!Format::kBy32) {
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      int few = 0, many = 0;
      if constexpr (Format::kUsesSums) {
#pragma unroll
        for (int i = 0; i < Format::kSums / 4; ++i) {
          const auto four = static_cast<int>(of[r].of_sums(i));
          few = __dp4a(four, static_cast<int>(x_scales[r]->low[i]), few);
          many = __dp4a(four, static_cast<int>(x_scales[r]->high[i]), many);
        }
      }
      const float value = super_block_value<Format>(total[r], few + many * 64, of[r].scale, of[r].min_scale);
      sum[r] = __fmaf_rn(value, x_scales[r]->scale, sum[r]);
    }
  }
}

// Where a row's super-blocks of x lie for this: the second half of the parts, which is read together with the first, in
// other banks.
inline constexpr int kPartsGap = 64;
__device__ __forceinline__ int super_block_place(int super_block, int of_part) {
  return super_block * kSuperBlock + (super_block < kParts / 2 * of_part ? 0 : kPartsGap);
}
__device__ __forceinline__ int part_place(int part, int of_part) {
  return part * of_part * kSuperBlock + (part < kParts / 2 ? 0 : kPartsGap);
}

// multiply_diagonal for of_part super-blocks, from super-block `first` of the upper row on and `second` of the lower;
// what lies behind the last of `super_blocks` counts for nothing. x: the first super-block of column g's part, scales:
// of the row of x.
template <typename Format, bool kAligned>
__device__ __forceinline__ void multiply_parts(float (&sum)[2], const uint8_t* upper, const uint8_t* lower, int first,
                                               int second, int of_part, int super_blocks, int t, const char* x,
                                               const InputScalesOf<Format>* scales) {
  for (int i = 0; i < of_part; ++i) {
    const int up = min(first + i, super_blocks - 1), low = min(second + i, super_blocks - 1);
    float more[2] = {sum[0], sum[1]};
    multiply_diagonal<Format, kAligned>(more, upper + up * Format::kBytes, lower + low * Format::kBytes, t,
                                        x + i * kSuperBlock, scales[up], scales[low]);
    if (first + i < super_blocks) sum[0] = more[0];
    if (second + i < super_blocks) sum[1] = more[1];
  }
}

// A row of a plan's weights; one behind the last is the last one once more.
__device__ __forceinline__ const uint8_t* row_data(const WeightPlan& plan, const RowPlace& place) {
  const WeightJob& job = plan.jobs[place.job];
  return static_cast<const uint8_t*>(job.weights) + min(place.row, static_cast<int>(job.n) - 1) * plan.ld;
}

// Whether a kernel that has TMA fetch rows for one row of x takes the plan: has_room(block) of the formats
// that it is for.
inline constexpr int64_t kMostColumns = 16384;  // longer rows leave too little room
template <bool kBy32, typename HasRoom>
bool fits_fetched_rows(const Runtime& use, const WeightPlan& plan, const HasRoom& has_room) {
  if (!use.hopper || plan.m != 1 || plan.up || plan.k % kSuperBlock != 0) return false;
  if (plan.k == 0 || plan.k > kMostColumns) return false;
  bool fits = false, whole = plan.ld % 16 == 0;  // rows lie at multiples of 16 bytes
  for (int i = 0; i < plan.count; ++i) {
    if (plan.jobs[i].n == 0) return false;
    whole &= aligned(plan.jobs[i].weights, 16);
  }
  visit_packed(plan.dtype, [&](auto block) {
    using Format = Codes<decltype(block)>;
    if constexpr (Format::kKnown) {
      if constexpr (Format::kBy32 == kBy32) fits = (whole || Format::kBytes % 16 != 0) && has_room(block);
    }
  });
  return fits;
}

// Body(Block{}) for formats that have Codes.
template <typename Body>
void visit_codes(DType dtype, const Body& body) {
  visit_packed(dtype, [&](auto block) {
    if constexpr (Codes<decltype(block)>::kKnown) body(block);
  });
}
// Body(X{}) with what activations are.
template <typename Body>
void visit_input(DType dtype, const Body& body) {
  if (dtype == DType::kF32) return body(float{});
  dtype == DType::kF16 ? body(__half{}) : body(__nv_bfloat16{});
}

}  // namespace wick::cuda
