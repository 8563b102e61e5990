#include "backends/cuda/attention_plan.cuh"
#include "backends/cuda/dependent_launch.cuh"
#include "backends/cuda/mma.cuh"

// Attention over keys and values in f16 on the tensor cores. A row is one query head; the heads that share a key head
// and neighbouring tokens make tiles of 16 rows, one a warp. Keys come 32 at a time, in splits of fixed positions that
// are merged in order, whether one block goes through all of them or each has a block of its own.
namespace wick::cuda {
namespace {

constexpr int kSplit = 128, kKeys = 32, kTokens = static_cast<int>(kKvBlockTokens), kRows = 16;

template <int kDim>
struct Shared {
  static constexpr int kSide = kKeys * kDim * 2;  // bytes of keys or values of a tile
  static constexpr int kStage = 2 * kSide;
  static constexpr int kBytes = 2 * kStage;
};

// Where a block's rows are: `first_row` counts (token, head of the group) pairs of one sequence.
struct TileRows {
  int sequence, start, first_row, rows;  // start: the sequence's first row in the batch; rows: of the sequence
};

// Tiles of each sequence one after the other; false behind the last.
__device__ bool find_tile(const AttentionPlan& plan, int tile, int tile_rows, TileRows& found) {
  for (int s = 0; s < plan.rows.sequences; ++s) {
    const int start = plan.rows.starts[s], rows = (plan.rows.starts[s + 1] - start) * plan.group;
    const int tiles = (rows + tile_rows - 1) / tile_rows;
    if (tile < tiles) {
      found = {s, start, tile * tile_rows, rows};
      return true;
    }
    tile -= tiles;
  }
  return false;
}

// The weighted values of some keys for rows g and g + 8 of a warp's tile; sums are relative to 2^most.
template <int kDim>
struct Mix {
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  float sums[kDim / 8][4] = {};
};

template <int kDim>
__device__ __forceinline__ void merge(Mix<kDim>& into, const Mix<kDim>& other) {
  float keep[2], take[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float top = fmaxf(into.most[h], other.most[h]);
    keep[h] = top == into.most[h] ? 1.0f : exp2f(into.most[h] - top);
    take[h] = top == other.most[h] ? 1.0f : exp2f(other.most[h] - top);
    into.total[h] = weighted(into.total[h], keep[h], other.total[h], take[h]);
    into.most[h] = top;
  }
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) into.sums[i][e] = weighted(into.sums[i][e], keep[e / 2], other.sums[i][e], take[e / 2]);
  }
}

template <int kDim, int kWarps>
__device__ __forceinline__ void start_tile(const AttentionPlan& plan, const int32_t* table, int kv_head, int tile,
                                           int first, int last, uint32_t place) {
  const PoolPlan& pool = plan.pool;
  constexpr int kChunks = kTokens * kDim / 8;  // of 16 bytes in a block, keys or values
#pragma unroll
  for (int b = 0; b < kKeys / kTokens; ++b) {
    const int block = tile * (kKeys / kTokens) + b;
    const bool valid = block >= first / kTokens && block <= last / kTokens;
    const int64_t id = valid ? table[block] : 0;
    const auto* key = static_cast<const __half*>(pool.key) + id * pool.key_block + kv_head * pool.key_head;
    const auto* value = static_cast<const __half*>(pool.value) + id * pool.value_block + kv_head * pool.value_head;
    for (int i = threadIdx.x; i < kChunks; i += kWarps * 32) {
      // Keys: rows of 16 tokens, one per component; halves change places every four rows. Values: rows of components.
      const int d = i / 2, half = i % 2 ^ (d >> 2 & 1);
      copy_async(place + static_cast<uint32_t>(b * kTokens * kDim * 2 + d * 32 + half * 16), key + i * 8, valid);
      const int token = i / (kDim / 8), chunk = i % (kDim / 8) ^ (token & 7);
      copy_async(place + static_cast<uint32_t>(Shared<kDim>::kSide + (b * kTokens + token) * kDim * 2 + chunk * 16),
                 value + i * 8, valid);
    }
  }
  commit_copies();
}

template <int kDim, int kWarps, bool kOneSplit>
__global__ void __launch_bounds__(kWarps * 32) tiles_kernel(const __grid_constant__ AttentionPlan plan) {
  extern __shared__ __align__(128) char memory[];
  __shared__ int odd_keys[2];  // bit j: a value of key j of the tile is not finite
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int kv_head = blockIdx.y;
  let_next_start();
  wait_for_previous();
  TileRows tile_rows;
  if (!find_tile(plan, static_cast<int>(blockIdx.x), kWarps * kRows, tile_rows)) return;
  const int sequence = tile_rows.sequence;
  const int32_t* table = plan.rows.table + sequence * plan.rows.table_row;

  // Rows g and g + 8 of this warp.
  int row[2], head[2];
  Sight sight[2];
  bool exists[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const int at = tile_rows.first_row + warp * kRows + g + 8 * h;
    exists[h] = at < tile_rows.rows;
    row[h] = tile_rows.start + (exists[h] ? at : tile_rows.first_row) / plan.group;
    head[h] = kv_head * plan.group + (exists[h] ? at : tile_rows.first_row) % plan.group;
    sight[h] = sight_of(plan, row[h], sequence);
  }
  // What the block's rows see: positions grow with the rows.
  const int last_row = min(tile_rows.first_row + kWarps * kRows, tile_rows.rows) - 1;
  const Sight begin = sight_of(plan, tile_rows.start + tile_rows.first_row / plan.group, sequence);
  const Sight end = sight_of(plan, tile_rows.start + last_row / plan.group, sequence);
  int first = begin.first, last = end.position;
  if (kOneSplit) {
    const int split = static_cast<int>(blockIdx.z);
    first = max(first, split * kSplit);
    last = min(last, (split + 1) * kSplit - 1);
    if (first > last) return;
  }

  uint32_t query[kDim / 16][4];
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int h = e % 2;
      const float2 pair = *reinterpret_cast<const float2*>(plan.query + row[h] * plan.query_row +
                                                           head[h] * plan.query_head + i * 16 + 2 * t + e / 2 * 8);
      query[i][e] = round_pair<__half>(pair.x * plan.scale, pair.y * plan.scale);
    }
  }
  constexpr float kLog2e = 1.4426950408889634f;
  const float slope[2] = {plan.slopes ? plan.slopes[head[0]] : 0, plan.slopes ? plan.slopes[head[1]] : 0};

  const uint32_t base = shared_address(memory);
  const int first_tile = first / kKeys, last_tile = last / kKeys;
  start_tile<kDim, kWarps>(plan, table, kv_head, first_tile, first, last, base);
  Mix<kDim> whole, mix;
  for (int tile = first_tile; tile <= last_tile; ++tile) {
    const int stage = (tile - first_tile) % 2;
    const uint32_t keys = base + static_cast<uint32_t>(stage * Shared<kDim>::kStage);
    const uint32_t values = keys + Shared<kDim>::kSide;
    if (tile < last_tile) {
      start_tile<kDim, kWarps>(plan, table, kv_head, tile + 1, first, last,
                               base + static_cast<uint32_t>((1 - stage) * Shared<kDim>::kStage));
      wait_copies<1>();
    } else {
      wait_copies<0>();
    }
    // Some row of the block does not see all of these keys: values that are not finite would reach it, times 0. They
    // are taken out, and rows that do see them become NaN.
    const bool masked = tile * kKeys + kKeys - 1 > begin.position || tile * kKeys < end.first ||
                        (tile + 1) * kKeys > last + 1 || tile * kKeys < first;
    if (masked && threadIdx.x < 2) odd_keys[threadIdx.x] = 0;
    __syncthreads();
    if (masked) {
      char* rows = memory + stage * Shared<kDim>::kStage + Shared<kDim>::kSide;
      for (int i = threadIdx.x; i < kKeys * kDim / 2; i += kWarps * 32) {
        auto* pair = reinterpret_cast<uint32_t*>(rows) + i;
        const uint32_t both = *pair;
        if ((both & 0x7c00u) == 0x7c00u || (both & 0x7c000000u) == 0x7c000000u) {
          *pair = 0;
          atomicOr(&odd_keys[stage], 1 << i / (kDim / 2));
        }
      }
      __syncthreads();
    }
    const uint32_t odd = masked ? static_cast<uint32_t>(odd_keys[stage]) : 0;

    float scores[kKeys / 8][4] = {};
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
      for (int b = 0; b < kKeys / kTokens; ++b) {
        uint32_t k[4];
        const int d = i * 16 + lane % 16, half = lane / 16 ^ (d >> 2 & 1);
        load_matrices_transposed(k, keys + static_cast<uint32_t>(b * kTokens * kDim * 2 + d * 32 + half * 16));
        mma<__half>(scores[2 * b], query[i], k[0], k[1]);
        mma<__half>(scores[2 * b + 1], query[i], k[2], k[3]);
      }
    }
    float most[2] = {mix.most[0], mix.most[1]};
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int h = e / 2, key = n * 8 + 2 * t + e % 2, at = tile * kKeys + key;
        float score = scores[n][e];
        if (plan.soft_cap > 0) score = plan.soft_cap * tanhf(score / plan.soft_cap);
        score = __fmul_rn(__fmaf_rn(slope[h], static_cast<float>(at - sight[h].position), score), kLog2e);
        if (odd >> key & 1) score = NAN;
        const bool seen = at >= sight[h].first && at <= sight[h].position;
        scores[n][e] = seen ? score : -INFINITY;
        most[h] = fmaxf(most[h], scores[n][e]);
      }
    }
    float shrink[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      most[h] = fmaxf(most[h], __shfl_xor_sync(0xffffffffu, most[h], 1));
      most[h] = fmaxf(most[h], __shfl_xor_sync(0xffffffffu, most[h], 2));
      shrink[h] = most[h] == mix.most[h] ? 1.0f : exp2f(mix.most[h] - most[h]);
      mix.most[h] = most[h];
      mix.total[h] = __fmul_rn(mix.total[h], shrink[h]);
    }
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) mix.sums[i][e] *= shrink[e / 2];
    }
#pragma unroll
    for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        // -infinity is a key that is not seen, also where no key was seen yet.
        const float weight = scores[n][e] == -INFINITY ? 0.0f : exp2f(scores[n][e] - most[e / 2]);
        scores[n][e] = weight;
        mix.total[e / 2] += weight;
      }
    }
#pragma unroll
    for (int b = 0; b < kKeys / kTokens; ++b) {
      const uint32_t weights[4] = {round_pair<__half>(scores[2 * b][0], scores[2 * b][1]),
                                   round_pair<__half>(scores[2 * b][2], scores[2 * b][3]),
                                   round_pair<__half>(scores[2 * b + 1][0], scores[2 * b + 1][1]),
                                   round_pair<__half>(scores[2 * b + 1][2], scores[2 * b + 1][3])};
#pragma unroll
      for (int i = 0; i < kDim / 16; ++i) {
        uint32_t v[4];
        const int token = b * kTokens + lane % 16, chunk = (i * 2 + lane / 16) ^ (token & 7);
        load_matrices_transposed(v, values + static_cast<uint32_t>(token * kDim * 2 + chunk * 16));
        mma<__half>(mix.sums[2 * i], weights, v[0], v[1]);
        mma<__half>(mix.sums[2 * i + 1], weights, v[2], v[3]);
      }
    }
    if ((tile + 1) * kKeys % kSplit == 0 || tile == last_tile) {  // a split is done
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        mix.total[h] += __shfl_xor_sync(0xffffffffu, mix.total[h], 1);
        mix.total[h] += __shfl_xor_sync(0xffffffffu, mix.total[h], 2);
      }
      merge(whole, mix);
      mix = Mix<kDim>();
    }
    __syncthreads();
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (!exists[h]) continue;
    if (kOneSplit && plan.partial) {
      float* target = partial_of(plan, row[h], head[h], static_cast<int>(blockIdx.z));
      if (t == 0) {
        target[0] = whole.most[h];
        target[1] = whole.total[h];
      }
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
        target[2 + i * 8 + 2 * t] = whole.sums[i][2 * h];
        target[2 + i * 8 + 2 * t + 1] = whole.sums[i][2 * h + 1];
      }
      continue;
    }
    float total = whole.total[h], keep = 1;
    if (plan.sinks) {
      const float sink = plan.sinks[head[h]] * kLog2e, top = fmaxf(whole.most[h], sink);
      keep = top == whole.most[h] ? 1.0f : exp2f(whole.most[h] - top);
      total = __fmaf_rn(total, keep, exp2f(sink - top));
    }
    float* target = plan.out + (int64_t{row[h]} * plan.heads + head[h]) * kDim;
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
      target[i * 8 + 2 * t] = whole.sums[i][2 * h] * keep / total;
      target[i * 8 + 2 * t + 1] = whole.sums[i][2 * h + 1] * keep / total;
    }
  }
}

// A warp per row and head merges its splits.
template <int kDim>
__global__ void __launch_bounds__(128) merge_kernel(const __grid_constant__ AttentionPlan plan) {
  constexpr float kLog2e = 1.4426950408889634f;
  const int lane = threadIdx.x % 32;
  let_next_start();
  wait_for_previous();
  const int64_t task = int64_t{blockIdx.x} * 4 + threadIdx.x / 32;
  if (task >= int64_t{plan.row_count} * plan.heads) return;
  const int row = static_cast<int>(task / plan.heads), head = static_cast<int>(task % plan.heads);
  const Sight sight = sight_of(plan, row, plan.rows.sequence_of(row));
  float most = -INFINITY, total = 0, sums[kDim / 32] = {};
  for (int split = sight.first / kSplit; split <= sight.position / kSplit; ++split) {
    const float* part = partial_of(plan, row, head, split);
    const float top = fmaxf(most, part[0]);
    const float keep = top == most ? 1.0f : exp2f(most - top), take = top == part[0] ? 1.0f : exp2f(part[0] - top);
    total = weighted(total, keep, part[1], take);
    most = top;
#pragma unroll
    for (int i = 0; i < kDim / 32; ++i) sums[i] = weighted(sums[i], keep, part[2 + lane + 32 * i], take);
  }
  float keep = 1;
  if (plan.sinks) {
    const float sink = plan.sinks[head] * kLog2e, top = fmaxf(most, sink);
    keep = top == most ? 1.0f : exp2f(most - top);
    total = __fmaf_rn(total, keep, exp2f(sink - top));
  }
  float* target = plan.out + (int64_t{row} * plan.heads + head) * kDim;
#pragma unroll
  for (int i = 0; i < kDim / 32; ++i) target[lane + 32 * i] = sums[i] * keep / total;
}

template <int kDim>
void launch(Device device, AttentionPlan plan) {
  constexpr int kManyWarps = 4;
  const Runtime& use = runtime(device);
  const int64_t rows = int64_t{plan.row_count} * plan.group;
  const auto tiles = [&](int64_t size) { return static_cast<unsigned>(rows / size + plan.rows.sequences); };
  const auto kv_heads = static_cast<unsigned>(plan.pool.kv_heads);
  // Few rows: a block for each split of 16 rows. Many: 64 rows share what a block reads.
  const bool few = rows / (kManyWarps * kRows) * kv_heads < use.multiprocessors;
  if (!few) {
    allow_shared<tiles_kernel<kDim, kManyWarps, false>>(device, Shared<kDim>::kBytes);
    launch_dependent(device, "paged_attention", tiles_kernel<kDim, kManyWarps, false>,
                     dim3(tiles(kManyWarps * kRows), kv_heads), kManyWarps * 32, Shared<kDim>::kBytes, plan);
    return;
  }
  // With one split there is nothing to merge.
  const bool whole = plan.splits == 1;
  const size_t floats =
      whole ? 0 : static_cast<size_t>(plan.row_count) * static_cast<size_t>(plan.heads * plan.splits) * (kDim + 2);
  const Scratch partial(device, floats * sizeof(float));
  plan.partial = partial.as<float>();
  allow_shared<tiles_kernel<kDim, 1, true>>(device, Shared<kDim>::kBytes);
  launch_dependent(device, "paged_attention", tiles_kernel<kDim, 1, true>,
                   dim3(tiles(kRows), kv_heads, static_cast<unsigned>(plan.splits)), 32, Shared<kDim>::kBytes, plan);
  if (whole) return;
  launch_dependent(device, "paged_attention", merge_kernel<kDim>, blocks_for(int64_t{plan.row_count} * plan.heads, 4),
                   128, 0, plan);
}

}  // namespace

bool fits_tensor_cores(const AttentionPlan& plan, DType pool) {
  const auto whole = [](const void* data, int64_t block, int64_t head) {
    return aligned(data, 16) && block % 8 == 0 && head % 8 == 0;
  };
  const int dim = plan.pool.dim;
  return pool == DType::kF16 && dim == plan.pool.value_dim && (dim == 64 || dim == 128) &&
         whole(plan.pool.key, plan.pool.key_block, plan.pool.key_head) &&
         whole(plan.pool.value, plan.pool.value_block, plan.pool.value_head);
}

void attend_on_tensor_cores(Device device, AttentionPlan plan, int64_t table_blocks) {
  plan.splits = static_cast<int>((table_blocks * kKvBlockTokens + kSplit - 1) / kSplit);
  plan.pool.dim == 64 ? launch<64>(device, plan) : launch<128>(device, plan);
}

}  // namespace wick::cuda
