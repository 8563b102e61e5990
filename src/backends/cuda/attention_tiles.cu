#include "backends/cuda/attention_tiles.cuh"

// Attention of many rows over keys and values in f16 or bf16: a warp has 16 rows, a block goes through all their keys.
namespace wick::cuda {
namespace {

constexpr int kStages = 3;  // tiles of keys and values that are there or on their way

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
    keep[h] = shrink_to(top, into.most[h]);
    take[h] = shrink_to(top, other.most[h]);
    into.total[h] = weighted(into.total[h], keep[h], other.total[h], take[h]);
    into.most[h] = top;
  }
#pragma unroll
  for (int i = 0; i < kDim / 8; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) into.sums[i][e] = weighted(into.sums[i][e], keep[e / 2], other.sums[i][e], take[e / 2]);
  }
}

template <typename T, int kDim, int kWarps>
__device__ __forceinline__ void start_tile(const AttentionPlan& plan, const int32_t* table, int kv_head, int tile,
                                           int first, int last, uint32_t place) {
  const PoolPlan& pool = plan.pool;
  constexpr int kChunks = kTokens * kDim / 8;  // of 16 bytes in a block, keys or values
#pragma unroll
  for (int b = 0; b < kKeys / kTokens; ++b) {
    const int block = tile * (kKeys / kTokens) + b;
    const bool valid = block >= first / kTokens && block <= last / kTokens;
    const int64_t id = valid ? table[block] : 0;
    const auto* key = static_cast<const T*>(pool.key) + id * pool.key_block + kv_head * pool.key_head;
    const auto* value = static_cast<const T*>(pool.value) + id * pool.value_block + kv_head * pool.value_head;
    for (int i = threadIdx.x; i < kChunks; i += kWarps * 32) {
      copy_async(key_place<kDim>(place, b, i), key + i * 8, valid);
      copy_async(value_place<kDim>(place, b, i), value + i * 8, valid);
    }
  }
  commit_copies();
}

template <typename T, int kDim, int kWarps>
__global__ void __launch_bounds__(kWarps * 32) tiles_kernel(const __grid_constant__ AttentionPlan plan) {
  extern __shared__ __align__(128) char memory[];
  __shared__ int odd_keys[kStages];  // bit j: a value of key j of the tile is not finite
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, t = lane % 4;
  const int kv_head = blockIdx.y;
  let_next_start();
  wait_for_previous();
  TileRows tile_rows;
  const auto tiles = static_cast<int>(gridDim.x);  // those with most keys first
  if (!find_tile(plan, tiles - 1 - static_cast<int>(blockIdx.x), kWarps * kRows, tile_rows)) return;
  const int sequence = tile_rows.sequence;
  const int32_t* table = plan.rows.table + sequence * plan.rows.table_row;
  const LaneRows rows(plan, tile_rows, tile_rows.first_row + warp * kRows, kv_head);
  // What the block's rows see: positions grow with the rows.
  const int last_row = min(tile_rows.first_row + kWarps * kRows, tile_rows.rows) - 1;
  const Sight begin = sight_of(plan, tile_rows.start + tile_rows.first_row / plan.group, sequence);
  const Sight end = sight_of(plan, tile_rows.start + last_row / plan.group, sequence);
  const int first = begin.first, last = end.position;

  const uint32_t base = shared_address(memory);
  const int first_tile = first / kKeys, last_tile = last / kKeys;
  const auto start = [&](int tile) {
    const int stage = (tile - first_tile) % kStages;
    if (tile > last_tile) return commit_copies();
    start_tile<T, kDim, kWarps>(plan, table, kv_head, tile, first, last,
                                base + static_cast<uint32_t>(stage * KeyTile<kDim>::kBytes));
  };
  for (int i = 0; i < kStages - 1; ++i) start(first_tile + i);
  const bool plain = plan.soft_cap <= 0 && !plan.slopes;
  uint32_t query[kDim / 16][4];
  load_queries<T, kDim>(plan, rows, query);
  Mix<kDim> whole, mix;
  for (int tile = first_tile; tile <= last_tile; ++tile) {
    const int stage = (tile - first_tile) % kStages;
    const uint32_t keys = base + static_cast<uint32_t>(stage * KeyTile<kDim>::kBytes);
    const uint32_t values = keys + KeyTile<kDim>::kSide;
    wait_copies<kStages - 2>();
    // Some row of the block does not see all of these keys: values that are not finite would reach it, times 0. They
    // are taken out, and rows that do see them become NaN.
    const bool masked = tile * kKeys + kKeys - 1 > begin.position || tile * kKeys < end.first ||
                        (tile + 1) * kKeys > last + 1 || tile * kKeys < first;
    if (masked && threadIdx.x == 0) odd_keys[stage] = 0;
    __syncthreads();
    start(tile + kStages - 1);  // where the tile before was, which all are done with
    if (masked) {
      auto* pairs = reinterpret_cast<uint32_t*>(memory + stage * KeyTile<kDim>::kBytes + KeyTile<kDim>::kSide);
      for (int i = threadIdx.x; i < kKeys * kDim / 2; i += kWarps * 32) {
        if (is_odd<T>(pairs[i])) {
          pairs[i] = 0;
          atomicOr(&odd_keys[stage], 1 << i / (kDim / 2));
        }
      }
      __syncthreads();
    }
    const uint32_t odd = masked ? static_cast<uint32_t>(odd_keys[stage]) : 0;

    float scores[kKeys / 8][4] = {}, most[2] = {mix.most[0], mix.most[1]}, local[2];
    multiply_keys<T, kDim>(query, keys, scores);
    if (plain && !masked) {
      finish_plain_scores(scores, most);
    } else {
      finish_scores(plan, rows, tile, odd, scores, most);
    }
    weigh_scores(most, scores, local);
    float shrink[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      shrink[h] = shrink_to(most[h], mix.most[h]);
      mix.most[h] = most[h];
      mix.total[h] = __fmaf_rn(mix.total[h], shrink[h], local[h]);
    }
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) mix.sums[i][e] = __fmul_rn(mix.sums[i][e], shrink[e / 2]);
    }
#pragma unroll
    for (int b = 0; b < kKeys / kTokens; ++b) {
      uint32_t weights[4];
      pack_weights<T>(scores, b, weights);
#pragma unroll
      for (int i = 0; i < kDim / 16; ++i) {
        uint32_t v[4];
        const int token = b * kTokens + lane % 16, chunk = (i * 2 + lane / 16) ^ (token & 7);
        load_matrices_transposed(v, values + static_cast<uint32_t>(token * kDim * 2 + chunk * 16));
        mma<T>(mix.sums[2 * i], weights, v[0], v[1]);
        mma<T>(mix.sums[2 * i + 1], weights, v[2], v[3]);
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
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (!rows.exists[h]) continue;
    float total = whole.total[h];
    const float keep = with_sink(plan, rows.head[h], whole.most[h], total);
    float* target = plan.out + (int64_t{rows.row[h]} * plan.heads + rows.head[h]) * kDim;
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
      target[i * 8 + 2 * t] = whole.sums[i][2 * h] * keep / total;
      target[i * 8 + 2 * t + 1] = whole.sums[i][2 * h + 1] * keep / total;
    }
  }
}

template <typename T, int kDim>
void launch(Device device, const AttentionPlan& plan) {
  constexpr int kWarps = 4, kBytes = kStages * KeyTile<kDim>::kBytes;
  const int64_t tiles = int64_t{plan.row_count} * plan.group / (kWarps * kRows) + plan.rows.sequences;
  allow_shared<tiles_kernel<T, kDim, kWarps>>(device, kBytes);
  launch_dependent(device, "paged_attention", tiles_kernel<T, kDim, kWarps>,
                   dim3(static_cast<unsigned>(tiles), static_cast<unsigned>(plan.pool.kv_heads)), kWarps * 32, kBytes,
                   plan);
}

int split_count(int64_t table_blocks) {
  return static_cast<int>((table_blocks * kKvBlockTokens + kSplit - 1) / kSplit);
}

}  // namespace

bool fits_tensor_cores(const AttentionPlan& plan, DType pool) {
  const auto whole = [](const void* data, int64_t block, int64_t head) {
    return aligned(data, 16) && block % 8 == 0 && head % 8 == 0;
  };
  const int dim = plan.pool.dim;
  return (pool == DType::kF16 || pool == DType::kBF16) && dim == plan.pool.value_dim && (dim == 64 || dim == 128) &&
         whole(plan.pool.key, plan.pool.key_block, plan.pool.key_head) &&
         whole(plan.pool.value, plan.pool.value_block, plan.pool.value_head);
}

bool goes_in_splits(Device device, const AttentionPlan& plan, int64_t table_blocks) {
  // 64 rows share what a block reads, unless that leaves most of the device without work.
  const int64_t rows = int64_t{plan.row_count} * plan.group;
  return rows / 64 * plan.pool.kv_heads < runtime(device).multiprocessors &&
         fits_splits(device, plan, split_count(table_blocks));
}

void attend_on_tensor_cores(Device device, AttentionPlan plan, DType pool, int64_t table_blocks) {
  plan.splits = split_count(table_blocks);
  const bool half = pool == DType::kF16, narrow = plan.pool.dim == 64;
  if (goes_in_splits(device, plan, table_blocks)) return attend_in_splits(device, plan, half);
  if (half) return narrow ? launch<__half, 64>(device, plan) : launch<__half, 128>(device, plan);
  narrow ? launch<__nv_bfloat16, 64>(device, plan) : launch<__nv_bfloat16, 128>(device, plan);
}

}  // namespace wick::cuda
