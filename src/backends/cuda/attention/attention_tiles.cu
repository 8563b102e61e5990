#include "backends/cuda/attention/attention_tiles.cuh"

// Attention of many rows over keys and values in f16, bf16 or 8 bits: a warp has 16 rows, a block goes through all
// their keys. Registers hold sums of kMostSums components; of larger heads several blocks take some of these each.
namespace wick::cuda {
namespace {

constexpr int kWarps = 4, kMostSums = 128;

// Keys and values of a split, then the block's queries as the warps' lanes take them.
template <int kDim>
struct TileMemory {
  static constexpr int kQueries = kTiles * KeyTile<kDim>::kBytes;  // [kWarps, kDim / 16, 32] x 16 bytes
  static constexpr int kBytes = kQueries + kWarps * kDim / 16 * 32 * 16;
};

// The weighted values of some keys for rows g and g + 8 of a warp's tile; sums are relative to 2^most.
template <int kSums>
struct Mix {
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {0, 0};
  float sums[kSums / 8][4] = {};
};

template <int kSums>
__device__ __forceinline__ void merge(Mix<kSums>& into, const Mix<kSums>& other) {
  float keep[2], take[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float top = fmaxf(into.most[h], other.most[h]);
    keep[h] = shrink_to(top, into.most[h]);
    take[h] = shrink_to(top, other.most[h]);
    into.total[h] = weighted(into.total[h], keep[h], other.total[h], take[h]);
    into.most[h] = top;
  }
#pragma unroll
  for (int i = 0; i < kSums / 8; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) into.sums[i][e] = weighted(into.sums[i][e], keep[e / 2], other.sums[i][e], take[e / 2]);
  }
}

// Brings the keys of a split, or its values, in 8 bits; blocks that nobody sees become 0.
template <typename T, int kDim, bool kValues>
__device__ __forceinline__ void widen_split(const AttentionPlan& plan, const int32_t* table, int kv_head, int split,
                                            const TileSight& keys_seen, char* memory) {
  const PoolPlan& pool = plan.pool;
  constexpr int kChunks = kTokens * kDim / 8, kPerTile = kKeys / kTokens;  // chunks of 8 components in a block
  if (split > keys_seen.last_split) return;
  const auto from = [&](int i) {
    const int b = i / kChunks, block = split * (kSplit / kTokens) + b;
    if (!keys_seen.has(block)) return static_cast<const T*>(nullptr);
    const int64_t id = table[block];
    const T* at = kValues ? pool.values_of<const T>(id, kv_head) : pool.keys_of<const T>(id, kv_head);
    return at + (i - b * kChunks) * 8;
  };
  const auto place = [&](int i) {
    const int b = i / kChunks, in_block = i - b * kChunks;
    const auto tile = static_cast<uint32_t>(b / kPerTile * KeyTile<kDim>::kBytes);
    return memory +
           (kValues ? value_place<kDim>(tile, b % kPerTile, in_block) : key_place<kDim>(tile, b % kPerTile, in_block));
  };
  using To = std::conditional_t<kValues, typename OnCores<T>::Value, typename OnCores<T>::Key>;
  widen_chunks<To, kSplit / kTokens * kChunks, kWarps * 32>(threadIdx.x, from, place);
}

// Copies them in the background, in 16 bits.
template <typename T, int kDim, bool kValues>
__device__ __forceinline__ void copy_split(const AttentionPlan& plan, const int32_t* table, int kv_head, int split,
                                           const TileSight& keys_seen, char* memory) {
  const PoolPlan& pool = plan.pool;
  constexpr int kChunks = kTokens * kDim / 8, kPerTile = kKeys / kTokens;
  const uint32_t base = shared_address(memory);
  if (split <= keys_seen.last_split) {
    for (int b = 0; b < kSplit / kTokens; ++b) {
      const int block = split * (kSplit / kTokens) + b;
      const bool valid = keys_seen.has(block);
      const int64_t id = valid ? table[block] : 0;
      const T* from = kValues ? pool.values_of<const T>(id, kv_head) : pool.keys_of<const T>(id, kv_head);
      const uint32_t tile = base + static_cast<uint32_t>(b / kPerTile * KeyTile<kDim>::kBytes);
#pragma unroll
      for (int i = threadIdx.x; i < kChunks; i += kWarps * 32) {
        const uint32_t to = kValues ? value_place<kDim>(tile, b % kPerTile, i) : key_place<kDim>(tile, b % kPerTile, i);
        copy_async(to, from + i * 8, valid);
      }
    }
  }
  commit_copies();
}

template <typename T, int kDim, bool kValues>
__device__ __forceinline__ void start_split(const AttentionPlan& plan, const int32_t* table, int kv_head, int split,
                                            const TileSight& keys_seen, char* memory) {
  if constexpr (OnCores<T>::kScaled) {
    widen_split<T, kDim, kValues>(plan, table, kv_head, split, keys_seen, memory);
  } else {
    copy_split<T, kDim, kValues>(plan, table, kv_head, split, keys_seen, memory);
  }
}

// zero_nonfinite for all tiles of a split; bit j of nonfinite_keys[i]: key j of tile i had some.
template <typename T, int kDim>
__device__ __forceinline__ void zero_nonfinite_of_split(char* memory, uint32_t* nonfinite_keys) {
  if (threadIdx.x < kTiles) nonfinite_keys[threadIdx.x] = 0;
  __syncthreads();
  for (int tile = 0; tile < kTiles; ++tile) {
    zero_nonfinite<T, kDim>(memory + tile * KeyTile<kDim>::kBytes, threadIdx.x, kWarps * 32,
                            [&](int key) { atomicOr(&nonfinite_keys[tile], 1u << key); });
  }
  __syncthreads();
}

template <typename T, int kDim>
__global__ void __launch_bounds__(kWarps * 32) tiles_kernel(const __grid_constant__ AttentionPlan plan) {
  extern __shared__ __align__(128) char memory[];
  __shared__ uint32_t nonfinite_keys[kTiles];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 4;
  using Key = typename OnCores<T>::Key;
  using Value = typename OnCores<T>::Value;
  constexpr bool kScaled = OnCores<T>::kScaled;
  constexpr int kSums = kDim < kMostSums ? kDim : kMostSums;
  const int kv_head = blockIdx.y, first_sum = static_cast<int>(blockIdx.z) * kSums;
  launch_dependents();
  wait_for_prerequisites();
  TileRows tile_rows;
  const auto tiles = static_cast<int>(gridDim.x);  // those with most keys first
  if (!find_tile(plan, tiles - 1 - static_cast<int>(blockIdx.x), kWarps * kRows, tile_rows)) return;
  const int32_t* table = plan.rows.table + tile_rows.sequence * plan.rows.table_row;
  const TileSight keys_seen(plan, tile_rows, kWarps * kRows);
  const LaneRows rows(plan, tile_rows, tile_rows.first_row + warp * kRows, kv_head);

  const uint32_t base = shared_address(memory);
  start_split<T, kDim, false>(plan, table, kv_head, keys_seen.first_split, keys_seen, memory);
  start_split<T, kDim, true>(plan, table, kv_head, keys_seen.first_split, keys_seen, memory);
  uint4* queries = reinterpret_cast<uint4*>(memory + TileMemory<kDim>::kQueries) + warp * (kDim / 16) * 32 + lane;
  {
    uint32_t query[kDim / 16][4];
    load_queries<Key, kDim>(plan, rows, query);
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) queries[i * 32] = {query[i][0], query[i][1], query[i][2], query[i][3]};
  }
  const bool plain = plan.soft_cap <= 0 && !plan.slopes;
  Mix<kSums> whole;
  for (int split = keys_seen.first_split; split <= keys_seen.last_split; ++split) {
    wait_copies<1>();
    __syncthreads();
    float key_scales[kTiles], value_scales[kTiles];  // of keys in 8 bits
    if constexpr (kScaled) {
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
        const int tile = split * kTiles + i;
        const bool is_there = keys_seen.has((tile * kKeys + lane) / kTokens);
        key_scales[i] = scale_of_key<false>(plan.pool, table, kv_head, tile, is_there);
        value_scales[i] = scale_of_key<true>(plan.pool, table, kv_head, tile, is_there);
      }
    }
    float scores[kTiles][kKeys / 8][4] = {};
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const uint4 four = queries[i * 32];
      const uint32_t query[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int b = 0; b < kSplit / kTokens; ++b) {
        constexpr int kPerTile = kKeys / kTokens;
        const uint32_t keys = base + static_cast<uint32_t>(b / kPerTile * KeyTile<kDim>::kBytes);
        const int d = i * 16 + lane % 16;
        uint32_t k[4];
        load_matrices_transposed(k, key_place<kDim>(keys, b % kPerTile, d * 2 + lane / 16));
        mma<Key>(scores[b / kPerTile][b % kPerTile * 2], query, k[0], k[1]);
        mma<Key>(scores[b / kPerTile][b % kPerTile * 2 + 1], query, k[2], k[3]);
      }
    }
    if constexpr (kScaled) {
#pragma unroll
      for (int i = 0; i < kTiles; ++i) scale_scores<false>(scores[i], key_scales[i]);
    }
    // Some row of the block does not see all of these keys: values that are not finite would reach it, times 0. They
    // are taken out, and rows that do see them become NaN.
    const bool masked = keys_seen.masks(split);
    if (masked) wait_copies<0>();
    __syncthreads();
    start_split<T, kDim, false>(plan, table, kv_head, split + 1, keys_seen, memory);
    if constexpr (!kScaled) {
      if (masked) zero_nonfinite_of_split<T, kDim>(memory, nonfinite_keys);
    }

    Mix<kSums> mix;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      if (plain && !masked) {
        take_most(scores[i], mix.most);
      } else {
        change_scores(plan, rows, split * kTiles + i, masked && !kScaled ? nonfinite_keys[i] : 0, scores[i], mix.most);
      }
    }
    share_most(mix.most);
    wait_copies<1>();
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      float local[2];
      weigh_scores(mix.most, scores[i], local);
      mix.total[0] += local[0];
      mix.total[1] += local[1];
      if constexpr (kScaled) scale_scores<true>(scores[i], value_scales[i]);
      const uint32_t values = base + static_cast<uint32_t>(i * KeyTile<kDim>::kBytes);
#pragma unroll
      for (int b = 0; b < kKeys / kTokens; ++b) {
        uint32_t weights[4];
        pack_weights<Value>(scores[i], b, weights);
#pragma unroll
        for (int j = 0; j < kSums / 16; ++j) {
          uint32_t v[4];
          const int chunk = first_sum / 8 + j * 2 + lane / 16;
          load_matrices_transposed(v, value_place<kDim>(values, b, lane % 16 * (kDim / 8) + chunk));
          mma<Value>(mix.sums[2 * j], weights, v[0], v[1]);
          mma<Value>(mix.sums[2 * j + 1], weights, v[2], v[3]);
        }
      }
    }
    __syncthreads();
    start_split<T, kDim, true>(plan, table, kv_head, split + 1, keys_seen, memory);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      mix.total[h] += __shfl_xor_sync(0xffffffffu, mix.total[h], 1);
      mix.total[h] += __shfl_xor_sync(0xffffffffu, mix.total[h], 2);
    }
    merge(whole, mix);
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (!rows.exists[h]) continue;
    const float share = share_of(plan, rows.head[h], whole.most[h], whole.total[h]);
    float* target = plan.out + (int64_t{rows.row[h]} * plan.heads + rows.head[h]) * kDim + first_sum;
#pragma unroll
    for (int i = 0; i < kSums / 8; ++i) {
      target[i * 8 + 2 * t] = whole.sums[i][2 * h] * share;
      target[i * 8 + 2 * t + 1] = whole.sums[i][2 * h + 1] * share;
    }
  }
}

template <typename T, int kDim>
void launch(Device device, const AttentionPlan& plan) {
  constexpr int kBytes = TileMemory<kDim>::kBytes;
  const int64_t tiles = int64_t{plan.row_count} * plan.group / (kWarps * kRows) + plan.rows.sequences;
  allow_shared<tiles_kernel<T, kDim>>(device, kBytes);
  launch_dependent(
      device, "paged_attention", tiles_kernel<T, kDim>,
      dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(plan.pool.kv_heads), std::max(kDim / kMostSums, 1)),
      kWarps * 32, kBytes, plan);
}

int split_count(int64_t table_blocks) {
  return static_cast<int>((table_blocks * kKvBlockTokens + kSplit - 1) / kSplit);
}

}  // namespace

bool fits_tensor_cores(const AttentionPlan& plan, DType pool) {
  if (plan.biases) return false;  // added by the kernel for all other plans
  const auto whole = [](const void* data, int64_t block, int64_t head) {
    return aligned(data, 16) && block % 8 == 0 && head % 8 == 0;
  };
  const int dim = plan.pool.dim;
  bool has_kernels = false;
  visit_heads(dim, pool, [&]<typename T, int kDim>() { has_kernels = true; });
  return has_kernels && dim == plan.pool.value_dim && whole(plan.pool.key, plan.pool.key_block, plan.pool.key_head) &&
         whole(plan.pool.value, plan.pool.value_block, plan.pool.value_head);
}

bool goes_in_splits(Device device, const AttentionPlan& plan, int64_t table_blocks) {
  // 64 rows share what a block reads, unless that leaves most of the device without work.
  const int64_t rows = int64_t{plan.row_count} * plan.group;
  return rows / 64 * plan.pool.kv_heads < runtime(device).multiprocessors &&
         fits_splits(device, plan, split_count(table_blocks));
}

bool rotates_queries(Device device, const AttentionPlan& plan, int64_t table_blocks) {
  return !goes_in_splits(device, plan, table_blocks) && fits_hopper(device, plan);
}

void attend_in_tiles(Device device, const AttentionPlan& plan, DType pool) {
  visit_heads(plan.pool.dim, pool, [&]<typename T, int kDim>() { launch<T, kDim>(device, plan); });
}

void attend_on_tensor_cores(Device device, AttentionPlan plan, DType pool, int64_t table_blocks) {
  plan.splits = split_count(table_blocks);
  plan.scale *= kLog2e;
  plan.soft_cap *= kLog2e;
  if (goes_in_splits(device, plan, table_blocks)) return attend_in_splits(device, plan, pool);
  fits_hopper(device, plan) ? attend_on_hopper(device, plan, pool == DType::kF16) : attend_in_tiles(device, plan, pool);
}

}  // namespace wick::cuda
