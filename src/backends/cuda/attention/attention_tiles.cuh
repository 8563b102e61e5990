#pragma once

#include "backends/cuda/attention/attention_plan.cuh"
#include "backends/cuda/gemm/mma.cuh"
#include "backends/cuda/quant/byte_pools.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"

// What the kernels of attention on the tensor cores share. A row is one query head; the heads that share a key head and
// neighbouring tokens make tiles of 16 rows. Keys come in splits of fixed positions, their weights relative to the
// largest score of the split, and splits are merged in order: a row's bits do not depend on which kernel computes it.
// Scores are exponents of two: the plan's scale, and its soft cap, have the factor kLog2e in them.
namespace wick::cuda {

inline constexpr int kSplit = 128, kKeys = 32, kTokens = static_cast<int>(kKvBlockTokens), kRows = 16;
inline constexpr int kTiles = kSplit / kKeys;
inline constexpr float kLog2e = 1.4426950408889634f;

// Keys and values of 32 positions in shared memory. Rows of values that do not fill all banks have 16 bytes more than
// they need.
template <int kDim>
struct KeyTile {
  static constexpr bool kSwizzled = kDim % 64 == 0;
  static constexpr int kValueRow = kDim * 2 + (kSwizzled ? 0 : 16);
  static constexpr int kValues = kKeys * kDim * 2;  // where they begin, behind the keys
  static constexpr int kBytes = kValues + kKeys * kValueRow;
};

// Where 16-byte chunk i of block b of a tile goes. Keys lie in rows of 16 tokens, one per component, whose halves
// change places every four rows; values in rows of components, whose chunks, if they fill all banks, are swizzled by
// the token: each bank is met once.
template <int kDim>
__device__ __forceinline__ uint32_t key_place(uint32_t tile, int b, int i) {
  const int d = i / 2, half = i % 2 ^ (d >> 2 & 1);
  return tile + static_cast<uint32_t>(b * kTokens * kDim * 2 + d * 32 + half * 16);
}
template <int kDim>
__device__ __forceinline__ uint32_t value_place(uint32_t tile, int b, int i) {
  using Tile = KeyTile<kDim>;
  const int token = i / (kDim / 8), chunk = i % (kDim / 8) ^ (Tile::kSwizzled ? token & 7 : 0);
  return tile + static_cast<uint32_t>(Tile::kValues + (b * kTokens + token) * Tile::kValueRow + chunk * 16);
}

// Whether one of two neighbours is not finite.
template <typename T>
__device__ __forceinline__ bool is_nonfinite(uint32_t both) {
  constexpr uint32_t kExponent = std::is_same_v<T, __half> ? 0x7c00u : 0x7f80u;
  return (both & kExponent) == kExponent || (both >> 16 & kExponent) == kExponent;
}
// Sets values of a tile that are not finite to 0, by `threads` threads, and calls found(key) for each.
template <typename T, int kDim, typename Found>
__device__ __forceinline__ void zero_nonfinite(char* tile, int thread, int threads, const Found& found) {
  for (int i = thread; i < kKeys * kDim / 2; i += threads) {
    const int key = i / (kDim / 2);
    auto* pair =
        reinterpret_cast<uint32_t*>(tile + KeyTile<kDim>::kValues + key * KeyTile<kDim>::kValueRow) + i % (kDim / 2);
    if (!is_nonfinite<T>(*pair)) continue;
    *pair = 0;
    found(key);
  }
}

// Where a block's rows are: `first_row` counts (token, head of the group) pairs of one sequence.
struct TileRows {
  int sequence, start, first_row, rows;  // start: the sequence's first row in the batch; rows: of the sequence
};

// Tiles of each sequence one after the other; false behind the last. By whole warps.
__device__ __forceinline__ bool find_tile(const AttentionPlan& plan, int tile, int tile_rows, TileRows& found) {
  const int lane = threadIdx.x % 32;
  for (int base = 0; base < plan.rows.sequences; base += 32) {
    const int sequence = base + lane;
    const bool there = sequence < plan.rows.sequences;
    const int start = there ? plan.rows.starts[sequence] : 0;
    const int rows = there ? (plan.rows.starts[sequence + 1] - start) * plan.group : 0;
    const int tiles = (rows + tile_rows - 1) / tile_rows;
    int until = tiles;  // tiles of this sequence and of those before it
#pragma unroll
    for (int step = 1; step < 32; step *= 2) {
      const int before = __shfl_up_sync(0xffffffffu, until, step);
      if (lane >= step) until += before;
    }
    const unsigned behind = __ballot_sync(0xffffffffu, tile < until);
    if (behind) {
      const int owner = __ffs(static_cast<int>(behind)) - 1;
      found = {base + owner, __shfl_sync(0xffffffffu, start, owner),
               (tile - __shfl_sync(0xffffffffu, until - tiles, owner)) * tile_rows,
               __shfl_sync(0xffffffffu, rows, owner)};
      return true;
    }
    tile -= __shfl_sync(0xffffffffu, until, 31);
  }
  return false;
}

// What the rows of a tile see: positions grow with the rows.
struct TileSight {
  KeyRange begin, end;  // of the first row and of the last
  int first_split, last_split;

  __device__ __forceinline__ TileSight(const AttentionPlan& plan, const TileRows& tile, int tile_rows) {
    const int last_row = min(tile.first_row + tile_rows, tile.rows) - 1;
    begin = key_range_of(plan, tile.start + tile.first_row / plan.group, tile.sequence);
    end = key_range_of(plan, tile.start + last_row / plan.group, tile.sequence);
    first_split = begin.first / kSplit;
    last_split = end.position / kSplit;
  }
  // Whether some row sees keys of a block of the pool.
  __device__ __forceinline__ bool has(int block) const {
    return block >= begin.first / kTokens && block <= end.position / kTokens;
  }
  // Whether some row does not see all keys of a split.
  __device__ __forceinline__ bool masks(int split) const {
    return (split + 1) * kSplit - 1 > begin.position || split * kSplit < end.first;
  }
};

// The rows g and g + 8 of a tile of 16 that a lane works on; rows that do not exist stand for the tile's first.
struct LaneRows {
  int row[2], head[2];
  KeyRange keys_seen[2];
  bool exists[2];

  __device__ __forceinline__ LaneRows(const AttentionPlan& plan, const TileRows& tile, int first_row, int kv_head) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int at = first_row + static_cast<int>(threadIdx.x % 32 / 4) + 8 * h;
      exists[h] = at < tile.rows;
      row[h] = tile.start + (exists[h] ? at : tile.first_row) / plan.group;
      head[h] = kv_head * plan.group + (exists[h] ? at : tile.first_row) % plan.group;
      keys_seen[h] = key_range_of(plan, row[h], tile.sequence);
    }
  }
};

// Those rows' queries, scaled, as the left side of products.
template <typename T, int kDim>
__device__ __forceinline__ void load_queries(const AttentionPlan& plan, const LaneRows& rows,
                                             uint32_t (&query)[kDim / 16][4]) {
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int h = e % 2;
      const float2 pair = *reinterpret_cast<const float2*>(plan.query + rows.row[h] * plan.query_row +
                                                           rows.head[h] * plan.query_head + i * 16 + 2 * t + e / 2 * 8);
      query[i][e] = round_pair<T>(pair.x * plan.scale, pair.y * plan.scale);
    }
  }
}

// Queries times the 32 keys at `keys`.
template <typename T, int kDim>
__device__ __forceinline__ void multiply_keys(const uint32_t (&query)[kDim / 16][4], uint32_t keys,
                                              float (&scores)[kKeys / 8][4]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
    for (int b = 0; b < kKeys / kTokens; ++b) {
      uint32_t k[4];
      const int d = i * 16 + lane % 16, half = lane / 16 ^ (d >> 2 & 1);
      load_matrices_transposed(k, keys + static_cast<uint32_t>(b * kTokens * kDim * 2 + d * 32 + half * 16));
      mma<T>(scores[2 * b], query[i], k[0], k[1]);
      mma<T>(scores[2 * b + 1], query[i], k[2], k[3]);
    }
  }
}

// The scale of key `lane` of a tile of the pool, 0 if its block is not there.
template <bool kValues>
__device__ __forceinline__ float scale_of_key(const PoolPlan& pool, const int32_t* table, int kv_head, int tile,
                                              bool is_there) {
  if (!is_there) return 0;
  const int key = tile * kKeys + static_cast<int>(threadIdx.x % 32), slot = key % kTokens;
  const int64_t id = table[key / kTokens];
  return kValues ? pool.value_scale[id * pool.value_scale_block + kv_head * pool.value_scale_head + slot]
                 : pool.key_scale[id * pool.key_scale_block + kv_head * pool.key_scale_head + slot];
}
// Scores times those scales. Weights, of which 0 stays 0: nobody knows what scales of keys are that are not seen.
template <bool kWeights>
__device__ __forceinline__ void scale_scores(float (&scores)[kKeys / 8][4], float of_lane) {
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int odd = 0; odd < 2; ++odd) {
      const float by = __shfl_sync(0xffffffffu, of_lane, n * 8 + static_cast<int>(threadIdx.x % 4) * 2 + odd);
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float& score = scores[n][2 * h + odd];
        score = kWeights && score == 0 ? 0 : score * by;
      }
    }
  }
}

// The largest of the four lanes that share two rows.
__device__ __forceinline__ void share_most(float (&most)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    most[h] = fmaxf(most[h], __shfl_xor_sync(0xffffffffu, most[h], 1));
    most[h] = fmaxf(most[h], __shfl_xor_sync(0xffffffffu, most[h], 2));
  }
}

// Scores with all that changes them, -infinity where a row does not see the key; `most` becomes this lane's largest, or
// stays. kPlain: there is neither a soft cap nor slopes.
template <bool kPlain = false>
__device__ __forceinline__ void change_scores(const AttentionPlan& plan, const LaneRows& rows, int tile, uint32_t odd,
                                              float (&scores)[kKeys / 8][4], float (&most)[2]) {
  const int first_key = tile * kKeys + static_cast<int>(threadIdx.x % 4) * 2;
  const auto each = [&](const auto& change) {
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) change(scores[n][e], e / 2, n * 8 + e % 2);
    }
  };
  if (!kPlain && plan.soft_cap > 0) {
    each([&](float& score, int, int) { score = plan.soft_cap * tanhf(score / plan.soft_cap); });
  }
  if (!kPlain && plan.slopes) {
    const float slope[2] = {plan.slopes[rows.head[0]] * kLog2e, plan.slopes[rows.head[1]] * kLog2e};
    each([&](float& score, int h, int key) {
      score = __fmaf_rn(slope[h], static_cast<float>(first_key + key - rows.keys_seen[h].position), score);
    });
  }
  if (odd) {
    each([&](float& score, int, int key) {
      if (odd >> (first_key + key) % kKeys & 1) score = NAN;
    });
  }
  int before[2], span[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    before[h] = first_key - rows.keys_seen[h].first;
    span[h] = rows.keys_seen[h].position - rows.keys_seen[h].first;
  }
  each([&](float& score, int h, int key) {
    const bool seen = static_cast<unsigned>(before[h] + key) <= static_cast<unsigned>(span[h]);
    score = seen ? score : -INFINITY;
    most[h] = fmaxf(most[h], score);
  });
}
template <bool kPlain = false>
__device__ __forceinline__ void finish_scores(const AttentionPlan& plan, const LaneRows& rows, int tile, uint32_t odd,
                                              float (&scores)[kKeys / 8][4], float (&most)[2]) {
  change_scores<kPlain>(plan, rows, tile, odd, scores, most);
  share_most(most);
}

// `most` where every row sees every key and nothing else changes a score.
__device__ __forceinline__ void take_most(const float (&scores)[kKeys / 8][4], float (&most)[2]) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float pairs[kKeys / 8];  // in a tree: none waits for all before it
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) pairs[n] = fmaxf(scores[n][2 * h], scores[n][2 * h + 1]);
    most[h] = fmaxf(most[h], fmaxf(fmaxf(pairs[0], pairs[1]), fmaxf(pairs[2], pairs[3])));
  }
}

// 2^x, 0 where that is less than any normal number.
__device__ __forceinline__ float power_of_two(float x) {
  float power;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
  return power;
}

// Scores become weights; `local` is this lane's part of their sum.
__device__ __forceinline__ void weigh_scores(const float (&most)[2], float (&scores)[kKeys / 8][4], float (&local)[2]) {
  // Where no key was seen all scores are -infinity and all weights 0.
  const float top[2] = {most[0] == -INFINITY ? 0 : most[0], most[1] == -INFINITY ? 0 : most[1]};
#pragma unroll
  for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      scores[n][e] = power_of_two(scores[n][e] - top[e / 2]);
      local[e / 2] = n == 0 && e % 2 == 0 ? scores[n][e] : local[e / 2] + scores[n][e];
    }
  }
}

// The weights of 16 keys as the left side of a product.
template <typename T>
__device__ __forceinline__ void pack_weights(const float (&scores)[kKeys / 8][4], int b, uint32_t (&weights)[4]) {
  weights[0] = round_pair<T>(scores[2 * b][0], scores[2 * b][1]);
  weights[1] = round_pair<T>(scores[2 * b][2], scores[2 * b][3]);
  weights[2] = round_pair<T>(scores[2 * b + 1][0], scores[2 * b + 1][1]);
  weights[3] = round_pair<T>(scores[2 * b + 1][2], scores[2 * b + 1][3]);
}

// What a larger score does to what was weighed before.
__device__ __forceinline__ float shrink_to(float most, float before) {
  return power_of_two(most == before ? 0.0f : before - most);  // both may be -infinity
}

// What a row's sums are multiplied with in the end; its sink takes part.
__device__ __forceinline__ float share_of(const AttentionPlan& plan, int head, float most, float total) {
  if (!plan.sinks) return 1 / total;
  const float sink = plan.sinks[head] * kLog2e, top = fmaxf(most, sink), keep = shrink_to(top, most);
  return keep / __fmaf_rn(total, keep, power_of_two(sink - top));
}

// body<T, kDim>() for the types of pools and the sizes of heads that kernels are for.
template <typename Body>
void visit_heads(int dim, DType pool, const Body& body) {
  const auto of_type = [&]<typename T>(T) {
    switch (dim) {
      case 64: return body.template operator()<T, 64>();
      case 80: return body.template operator()<T, 80>();
      case 96: return body.template operator()<T, 96>();
      case 128: return body.template operator()<T, 128>();
      case 256: return body.template operator()<T, 256>();
      default: return;
    }
  };
  switch (pool) {
    case DType::kF16: return of_type(__half());
    case DType::kBF16: return of_type(__nv_bfloat16());
    case DType::kI8: return of_type(int8_t());
    default: return;
  }
}

// Keys in splits of 128, each by a block of its own: for few rows.
bool fits_splits(Device device, const AttentionPlan& plan, int splits);
void attend_in_splits(Device device, AttentionPlan plan, DType pool);

// Many rows, on compute capability 9.0: with TMA and the products of warpgroups.
bool fits_hopper(Device device, const AttentionPlan& plan);
void attend_on_hopper(Device device, const AttentionPlan& plan, bool half);

// Many rows, everywhere.
void attend_in_tiles(Device device, const AttentionPlan& plan, DType pool);

}  // namespace wick::cuda
