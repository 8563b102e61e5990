#include "backends/cuda/attention/attention_tiles.cuh"

// Attention of few rows over keys and values in f16, bf16 or 8 bits. A block has 16 rows and one split of their keys:
// each of its warps multiplies one tile of keys, then, with the weights of all, one part of the values' components. The
// last block to be done merges the splits.
namespace wick::cuda {
namespace {

constexpr int kWarps = kSplit / kKeys;

template <int kDim>
struct SplitMemory {
  static constexpr int kWeights = kWarps * KeyTile<kDim>::kBytes;  // [kWarps, 2, 32] x 16 bytes; before, new queries
  static constexpr int kQueryBytes = kRows * (KeyTile<kDim>::kSwizzled ? kDim : kDim + 8) * 2;
  static constexpr int kMost = kWeights + std::max(kWarps * 2 * 32 * 16, kQueryBytes);  // [kWarps, kRows]
  static constexpr int kLocal = kMost + kWarps * kRows * 4;                             // [kWarps, 2, 32]
  static constexpr int kBytes = kLocal + kWarps * 2 * 32 * 4;
};

// The warp's tile in 8 bits. What nobody sees becomes 0.
template <typename T, int kDim>
__device__ __forceinline__ void widen_tile(const AttentionPlan& plan, const int32_t* table, int kv_head, int tile,
                                           int first, int last, char* memory) {
  const PoolPlan& pool = plan.pool;
  const int lane = threadIdx.x % 32;
  constexpr int kChunks = kTokens * kDim / 8;  // of 8 components in a block, keys or values
  const auto from = [&](auto values, int i) {
    const int b = i / kChunks, block = tile * (kKeys / kTokens) + b, in_block = i - b * kChunks;
    const int at = block * kTokens + in_block / (kDim / 8);
    const bool is_there = values() ? at >= first && at <= last : block >= first / kTokens && block <= last / kTokens;
    if (!is_there) return static_cast<const T*>(nullptr);
    const int64_t id = table[block];
    const T* of = values() ? pool.values_of<const T>(id, kv_head) : pool.keys_of<const T>(id, kv_head);
    return of + in_block * 8;
  };
  constexpr int kAll = kKeys / kTokens * kChunks;
  widen_chunks<typename OnCores<T>::Key, kAll, 32>(
      lane, [&](int i) { return from(std::false_type(), i); },
      [&](int i) { return memory + key_place<kDim>(0, i / kChunks, i % kChunks); });
  widen_chunks<typename OnCores<T>::Value, kAll, 32>(
      lane, [&](int i) { return from(std::true_type(), i); },
      [&](int i) { return memory + value_place<kDim>(0, i / kChunks, i % kChunks); });
}

// The same in 16 bits, in the background: keys in a first group of copies, values in a second one.
template <typename T, int kDim>
__device__ __forceinline__ void copy_tile(const AttentionPlan& plan, const int32_t* table, int kv_head, int tile,
                                          int first, int last, uint32_t place) {
  const PoolPlan& pool = plan.pool;
  const int lane = threadIdx.x % 32;
  constexpr int kChunks = kTokens * kDim / 8;
  const T* value[kKeys / kTokens];
  bool valid[kKeys / kTokens];
#pragma unroll
  for (int b = 0; b < kKeys / kTokens; ++b) {
    const int block = tile * (kKeys / kTokens) + b;
    valid[b] = block >= first / kTokens && block <= last / kTokens;
    const int64_t id = valid[b] ? table[block] : 0;
    const auto* key = pool.keys_of<const T>(id, kv_head);
    value[b] = pool.values_of<const T>(id, kv_head);
#pragma unroll 2
    for (int i = 0; i < kChunks; i += 32) {
      copy_async(key_place<kDim>(place, b, i + lane), key + (i + lane) * 8, valid[b]);
    }
  }
  commit_copies();
#pragma unroll
  for (int b = 0; b < kKeys / kTokens; ++b) {
    const int position = tile * kKeys + b * kTokens;
#pragma unroll 2
    for (int i = 0; i < kChunks; i += 32) {
      const int at = position + (i + lane) / (kDim / 8);
      copy_async(value_place<kDim>(place, b, i + lane), value[b] + (i + lane) * 8,
                 valid[b] && at >= first && at <= last);
    }
  }
  commit_copies();
}

// Brings the tile as far as the second-level cache; what is still being written there is read again later.
template <typename T, int kDim>
__device__ __forceinline__ void fetch_tile(const AttentionPlan& plan, const int32_t* table, int kv_head, int tile,
                                           int first, int last) {
  const PoolPlan& pool = plan.pool;
  constexpr int kLine = 128 / sizeof(T), kLines = kTokens * kDim / kLine;  // of a block, keys or values
#pragma unroll
  for (int b = 0; b < kKeys / kTokens; ++b) {
    const int block = tile * (kKeys / kTokens) + b;
    if (block < first / kTokens || block > last / kTokens) continue;
    const int64_t id = table[block];
    const auto* key = pool.keys_of<const T>(id, kv_head);
    const auto* value = pool.values_of<const T>(id, kv_head);
    for (int i = threadIdx.x % 32; i < kLines; i += 32) {
      asm volatile("prefetch.global.L2 [%0];" ::"l"(key + i * kLine));
      asm volatile("prefetch.global.L2 [%0];" ::"l"(value + i * kLine));
    }
  }
}

// How heads of a token are rotated. kSimple: in halves, with all but the heads read before those are there.
template <int kDim, bool kSimple>
struct NewRotation {
  HalvesRotation<kDim> halves;
  // What a lane has of a head that is to be rotated; several may be on their way. Only where it is simple.
  struct Head {
    float x[HalvesRotation<kDim>::kEach];
    __device__ __forceinline__ void read(const float* from) {
      if constexpr (kSimple) HalvesRotation<kDim>::read_head(from, x);
    }
  };

  __device__ __forceinline__ void prepare(const RotationPlan& plan, const float* weight, int token) {
    if constexpr (kSimple) {
      halves.read_weight(weight);
      halves.read_token(plan, token);
    }
  }
  template <typename Put>
  __device__ __forceinline__ void rotate(const RotationPlan& plan, Head& head, const float* from, const float* weight,
                                         int token, const Put& put) const {
    if constexpr (kSimple) {
      halves.rotate(head.x, weight != nullptr, plan.eps, put);
    } else {
      rotate_head(plan, from, kDim, weight, token, put);
    }
  }
};

// The queries of the block's rows, rotated, scaled and rounded, into shared memory [kRows, kDim], where chunks of 16
// bytes are swizzled by the row, or rows lie 16 bytes apart, so that eight rows lie in different banks. The warp of the
// last tile has most to do: it begins with the last row.
template <int kDim>
__device__ __forceinline__ int query_place(int row, int d) {
  return KeyTile<kDim>::kSwizzled ? row * kDim + (d ^ (row & 7) * 8) : row * (kDim + 8) + d;
}
template <typename T, int kDim, bool kSimple>
struct NewQueries {
  typename NewRotation<kDim, kSimple>::Head head;
  int row;  // of the block, the warp's first

  __device__ __forceinline__ static const float* place(const AttentionPlan& plan, const TileRows& tile, int kv_head,
                                                       int row) {
    return plan.query + tile.start * plan.query_row + (kv_head * plan.group + tile.first_row + row) * plan.query_head;
  }
  __device__ __forceinline__ void read(const AttentionPlan& plan, const TileRows& tile, int kv_head, int last_warp) {
    row = (static_cast<int>(threadIdx.x / 32) + kWarps - 1 - last_warp) % kWarps;
    if (tile.first_row + row < tile.rows) head.read(place(plan, tile, kv_head, row));
  }
  __device__ __forceinline__ void rotate(const AttentionPlan& plan, const TileRows& tile, int kv_head,
                                         const NewRotation<kDim, kSimple>& by, T* target) {
#pragma unroll 1
    for (int i = row; i < kRows && tile.first_row + i < tile.rows; i += kWarps) {
      const float* from = place(plan, tile, kv_head, i);
      if (i != row) head.read(from);
      by.rotate(plan.rotation, head, from, plan.rotation.query_weight, tile.start,
                [&](int d, float value) { target[query_place<kDim>(i, d)] = to<T>(value * plan.scale); });
    }
  }
};
// The same as load_queries.
template <typename T, int kDim>
__device__ __forceinline__ void take_queries(const TileRows& tile, uint32_t from, uint32_t (&query)[kDim / 16][4]) {
  const int lane = threadIdx.x % 32, row = tile.first_row + lane % 16 < tile.rows ? lane % 16 : 0;
#pragma unroll
  for (int i = 0; i < kDim / 16; ++i) {
    load_matrices(query[i], from + static_cast<uint32_t>(query_place<kDim>(row, i * 16 + lane / 16 * 8)) * sizeof(T));
  }
}

// A sequence's new key and value, components lane + 32 i: their places in the pool, and in the tile of the warp that
// has their position, once its copies are done.
template <typename T, int kDim, bool kSimple>
struct NewToken {
  static constexpr int kEach = (kDim + 31) / 32;
  typename NewRotation<kDim, kSimple>::Head head;
  T *key_target = nullptr, *value_target = nullptr;
  int64_t at = 0;  // of its heads, as they came
  T key[kEach];
  float value[kEach];
  int slot = 0, b = 0;

  static __device__ __forceinline__ int component(int i) { return static_cast<int>(threadIdx.x % 32) + 32 * i; }
  static __device__ __forceinline__ bool has(int i) { return kDim % 32 == 0 || component(i) < kDim; }

  __device__ __forceinline__ void read(const AttentionPlan& plan, const TileRows& tile, int kv_head, int position) {
    const PoolPlan& pool = plan.pool;
    at = (int64_t{tile.start} * pool.kv_heads + kv_head) * kDim;
    head.read(plan.key + at);
#pragma unroll
    for (int i = 0; i < kEach; ++i) value[i] = has(i) ? plan.value[at + component(i)] : 0;
    const int64_t block = plan.rows.table[tile.sequence * plan.rows.table_row + position / kTokens];
    slot = position % kTokens;
    b = position % kKeys / kTokens;
    key_target = pool.keys_of<T>(block, kv_head) + slot;
    value_target = pool.values_of<T>(block, kv_head) + slot * kDim;
  }
  // scratch: [kDim] in shared memory.
  __device__ __forceinline__ void rotate(const AttentionPlan& plan, const TileRows& tile,
                                         const NewRotation<kDim, kSimple>& by, float* scratch) {
    by.rotate(plan.rotation, head, plan.key + at, plan.rotation.key_weight, tile.start,
              [&](int d, float component) { scratch[d] = component; });
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kEach; ++i) key[i] = to<T>(has(i) ? scratch[component(i)] : 0.0f);
  }
  __device__ __forceinline__ void put_key(char* tile) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int d = component(i);
      if (!has(i)) continue;
      *reinterpret_cast<T*>(tile + key_place<kDim>(0, b, d * 2 + slot / 8) + slot % 8 * 2) = key[i];
    }
    __syncwarp();
  }
  __device__ __forceinline__ void put_value(char* tile) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int d = component(i);
      if (!has(i)) continue;
      *reinterpret_cast<T*>(tile + value_place<kDim>(0, b, slot * (kDim / 8) + d / 8) + d % 8 * 2) = to<T>(value[i]);
    }
  }
  __device__ __forceinline__ void keep() const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int d = component(i);
      if (!has(i)) continue;
      key_target[d * kTokens] = key[i];
      value_target[d] = to<T>(value[i]);
    }
  }
};

// A warp per row merges the splits it sees, in order.
template <int kDim>
__device__ void merge_splits(const AttentionPlan& plan, const TileRows& tile, int kv_head) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 1
  for (int i = warp; i < kRows && tile.first_row + i < tile.rows; i += kWarps) {
    const int row = tile.start + (tile.first_row + i) / plan.group;
    const int head = kv_head * plan.group + (tile.first_row + i) % plan.group;
    const KeyRange keys_seen = key_range_of(plan, row, tile.sequence);
    constexpr int kEach = (kDim + 31) / 32;
    const auto has = [&](int d) { return kDim % 32 == 0 || lane + 32 * d < kDim; };
    float most = -INFINITY, total = 0, sums[kEach] = {};
#pragma unroll 4
    for (int split = keys_seen.first / kSplit; split <= keys_seen.position / kSplit; ++split) {
      const float* part = partial_of(plan, row, head, split);
      const float part_most = __ldcg(part), part_total = __ldcg(part + 1);
      const float top = fmaxf(most, part_most), keep = shrink_to(top, most), take = shrink_to(top, part_most);
      total = weighted(total, keep, part_total, take);
      most = top;
#pragma unroll
      for (int d = 0; d < kEach; ++d) {
        if (has(d)) sums[d] = weighted(sums[d], keep, __ldcg(part + 2 + lane + 32 * d), take);
      }
    }
    const float share = share_of(plan, head, most, total);
    float* target = plan.out + (int64_t{row} * plan.heads + head) * kDim;
#pragma unroll
    for (int d = 0; d < kEach; ++d) {
      if (has(d)) target[lane + 32 * d] = sums[d] * share;
    }
  }
}

// kRotates: queries, key and value as they come from the projections; see AttentionPlan. kSimple: heads are rotated in
// halves and nothing changes a score, which takes far fewer instructions.
template <typename T, int kDim, bool kRotates, bool kSimple>
__global__ void __launch_bounds__(kWarps * 32) splits_kernel(const __grid_constant__ AttentionPlan plan) {
  using M = SplitMemory<kDim>;
  using Key = typename OnCores<T>::Key;
  using Value = typename OnCores<T>::Value;
  constexpr bool kScaled = OnCores<T>::kScaled;
  static_assert(!kRotates || !kScaled);
  extern __shared__ __align__(128) char memory[];
  __shared__ bool is_last;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int kv_head = blockIdx.y, split = blockIdx.z;
  launch_dependents();
  if (!plan.rows.steady) wait_for_prerequisites();
  TileRows tile_rows;
  if (!find_tile(plan, static_cast<int>(blockIdx.x), kRows, tile_rows)) return;
  const int sequence = tile_rows.sequence;
  // What the block's rows see: positions grow with the rows.
  const int last_row = min(tile_rows.first_row + kRows, tile_rows.rows) - 1;
  const KeyRange begin = key_range_of(plan, tile_rows.start + tile_rows.first_row / plan.group, sequence);
  const KeyRange end = key_range_of(plan, tile_rows.start + last_row / plan.group, sequence);
  const int first = max(begin.first, split * kSplit), last = min(end.position, (split + 1) * kSplit - 1);
  if (first > last) return;
  const int first_tile = first / kKeys - split * kWarps, last_tile = last / kKeys - split * kWarps;

  const uint32_t base = shared_address(memory), keys = base + static_cast<uint32_t>(warp * KeyTile<kDim>::kBytes);
  const int tile = split * kWarps + warp;
  const bool works = warp >= first_tile && warp <= last_tile;
  auto* tile_most = reinterpret_cast<float*>(memory + M::kMost);
  auto* locals = reinterpret_cast<float*>(memory + M::kLocal);
  auto* packed = reinterpret_cast<uint4*>(memory + M::kWeights);
  const LaneRows rows(plan, tile_rows, tile_rows.first_row, kv_head);
  const int32_t* table = plan.rows.table + sequence * plan.rows.table_row;
  float scores[kKeys / 8][4] = {};
  char* my_tile = memory + warp * KeyTile<kDim>::kBytes;
  // What came before a new token is there already.
  if (!kRotates && plan.rows.steady) {
    if (works) fetch_tile<T, kDim>(plan, table, kv_head, tile, first, last);
    wait_for_prerequisites();
  }
  if (works) {
    if constexpr (kScaled) {
      widen_tile<T, kDim>(plan, table, kv_head, tile, first, last, my_tile);
    } else {
      copy_tile<T, kDim>(plan, table, kv_head, tile, first, last, keys);
    }
  }
  const bool adds = kRotates && works && last == end.position && tile == last / kKeys;
  float key_scale = 0, value_scale = 0;  // of the tile's key `lane`, in 8 bits
  if constexpr (kScaled) {
    const int block = (tile * kKeys + lane) / kTokens;
    const bool is_there = works && block >= first / kTokens && block <= last / kTokens;
    key_scale = scale_of_key<false>(plan.pool, table, kv_head, tile, is_there);
    value_scale = scale_of_key<true>(plan.pool, table, kv_head, tile, is_there);
  }
  NewRotation<kDim, kSimple> query_rotation, key_rotation;
  if constexpr (kRotates) {
    query_rotation.prepare(plan.rotation, plan.rotation.query_weight, tile_rows.start);
    if (adds) key_rotation.prepare(plan.rotation, plan.rotation.key_weight, tile_rows.start);
    if (plan.rows.steady) wait_for_prerequisites();
  }
  NewToken<T, kDim, kSimple> token;
  if constexpr (kRotates) {
    NewQueries<T, kDim, kSimple> queries;
    if (adds) token.read(plan, tile_rows, kv_head, last);
    queries.read(plan, tile_rows, kv_head, last_tile);
    if (adds) token.rotate(plan, tile_rows, key_rotation, locals);
    queries.rotate(plan, tile_rows, kv_head, query_rotation, reinterpret_cast<T*>(packed));
    __syncthreads();
  }
  if (works) {
    uint32_t query[kDim / 16][4];
    if constexpr (kRotates) {
      take_queries<T, kDim>(tile_rows, shared_address(packed), query);
    } else {
      load_queries<Key, kDim>(plan, rows, query);
    }
    uint32_t odd = 0;
    // Rows of several tokens: see tiles_kernel.
    const bool masked =
        begin.position != end.position && (tile * kKeys + kKeys - 1 > begin.position || tile * kKeys < end.first ||
                                           (tile + 1) * kKeys > last + 1 || tile * kKeys < first);
    if (!kScaled && masked) {
      wait_copies<0>();
      __syncwarp();
      zero_nonfinite<T, kDim>(my_tile, lane, 32, [&](int key) { odd |= 1u << key; });
      odd = __reduce_or_sync(0xffffffffu, odd);
      __syncwarp();
    }
    wait_copies<1>();
    __syncwarp();
    if constexpr (kRotates) {
      if (adds) token.put_key(my_tile);
    }
    multiply_keys<Key, kDim>(query, keys, scores);
    if constexpr (kScaled) scale_scores<false>(scores, key_scale);
    float most[2] = {-INFINITY, -INFINITY};
    finish_scores<kSimple>(plan, rows, tile, odd, scores, most);
    if (t == 0) {
      tile_most[warp * kRows + g] = most[0];
      tile_most[warp * kRows + g + 8] = most[1];
    }
  }
  __syncthreads();
  if (works) {
    float most[2] = {-INFINITY, -INFINITY}, local[2];
#pragma unroll 1
    for (int i = first_tile; i <= last_tile; ++i) {
      most[0] = fmaxf(most[0], tile_most[i * kRows + g]);
      most[1] = fmaxf(most[1], tile_most[i * kRows + g + 8]);
    }
    weigh_scores(most, scores, local);
    if constexpr (kScaled) scale_scores<true>(scores, value_scale);
    locals[(warp * 2) * 32 + lane] = local[0];
    locals[(warp * 2 + 1) * 32 + lane] = local[1];
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      uint32_t weights[4];
      pack_weights<Value>(scores, b, weights);
      packed[(warp * 2 + b) * 32 + lane] = {weights[0], weights[1], weights[2], weights[3]};
    }
    wait_copies<0>();
    if constexpr (kRotates) {
      if (adds) {
        __syncwarp();
        token.put_value(my_tile);
      }
    }
  }
  __syncthreads();
  if constexpr (kRotates) {
    if (adds) token.keep();
  }

  constexpr int kSixteens = (kDim / 16 + kWarps - 1) / kWarps;  // of components, of this warp
  const auto has = [&](int j) { return kDim / 16 % kWarps == 0 || warp * kSixteens + j < kDim / 16; };
  float sums[kSixteens * 2][4] = {}, most[2] = {-INFINITY, -INFINITY}, total[2] = {};
#pragma unroll 1
  for (int i = first_tile; i <= last_tile; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      most[h] = fmaxf(most[h], tile_most[i * kRows + g + 8 * h]);
      total[h] += locals[(i * 2 + h) * 32 + lane];
    }
    const uint32_t from = base + static_cast<uint32_t>(i * KeyTile<kDim>::kBytes);
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const uint4 four = packed[(i * 2 + b) * 32 + lane];
      const uint32_t weights[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int j = 0; j < kSixteens; ++j) {
        if (!has(j)) continue;
        uint32_t v[4];
        const int chunk = (warp * kSixteens + j) * 2 + lane / 16;
        load_matrices_transposed(v, value_place<kDim>(from, b, lane % 16 * (kDim / 8) + chunk));
        mma<Value>(sums[2 * j], weights, v[0], v[1]);
        mma<Value>(sums[2 * j + 1], weights, v[2], v[3]);
      }
    }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
    total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
  }
  const int splits = end.position / kSplit - begin.first / kSplit + 1;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    if (!rows.exists[h]) continue;
    float share = 1;
    float* target;
    if (splits > 1) {
      target = partial_of(plan, rows.row[h], rows.head[h], split);
      if (warp == 0 && t == 0) {
        target[0] = most[h];
        target[1] = total[h];
      }
      target += 2;
    } else {
      share = share_of(plan, rows.head[h], most[h], total[h]);
      target = plan.out + (int64_t{rows.row[h]} * plan.heads + rows.head[h]) * kDim;
    }
#pragma unroll
    for (int n = 0; n < kSixteens * 2; ++n) {
      if (!has(n / 2)) continue;
      const int d = (warp * kSixteens * 2 + n) * 8 + 2 * t;
      target[d] = sums[n][2 * h] * share;
      target[d + 1] = sums[n][2 * h + 1] * share;
    }
  }
  if (splits == 1) return;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    int* counter = plan.arrived + blockIdx.x * gridDim.y + blockIdx.y;
    is_last = atomicAdd(counter, 1) == splits - 1;
    if (is_last) *counter = 0;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  merge_splits<kDim>(plan, tile_rows, kv_head);
}

int64_t tile_count(const AttentionPlan& plan) {
  return int64_t{plan.row_count} * plan.group / kRows + plan.rows.sequences;
}

template <typename T, int kDim>
void launch(Device device, AttentionPlan plan) {
  // With one split there is nothing to merge.
  const size_t floats = plan.splits == 1 ? 0
                                         : static_cast<size_t>(plan.row_count) *
                                               static_cast<size_t>(plan.heads * plan.splits) * (kDim + 2);
  const Scratch partial(device, floats * sizeof(float));
  plan.partial = partial.as<float>();
  const auto run = [&]<bool kRotates, bool kSimple>(std::bool_constant<kRotates>, std::bool_constant<kSimple>) {
    constexpr auto kKernel = splits_kernel<T, kDim, kRotates, kSimple>;
    allow_shared<kKernel>(device, SplitMemory<kDim>::kBytes);
    const dim3 grid(static_cast<unsigned>(tile_count(plan)), static_cast<unsigned>(plan.pool.kv_heads),
                    static_cast<unsigned>(plan.splits));
    launch_dependent(device, "paged_attention", kKernel, grid, kWarps * 32, SplitMemory<kDim>::kBytes, plan);
  };
  const std::true_type yes;
  const std::false_type no;
  const bool plain = plan.soft_cap <= 0 && !plan.slopes;
  if (!plan.key) return plain ? run(no, yes) : run(no, no);
  if constexpr (KeyTile<kDim>::kSwizzled && !OnCores<T>::kScaled) {
    if (plain && HalvesRotation<kDim>::fits(plan.rotation)) return run(yes, yes);
  }
  if constexpr (!OnCores<T>::kScaled) run(yes, no);
}

}  // namespace

bool fits_splits(Device device, const AttentionPlan& plan, int splits) {
  return tile_count(plan) * plan.pool.kv_heads <= runtime(device).counter_count && splits <= 65535;
}

void attend_in_splits(Device device, AttentionPlan plan, DType pool) {
  plan.arrived = runtime(device).counters;
  visit_heads(plan.pool.dim, pool, [&]<typename T, int kDim>() { launch<T, kDim>(device, plan); });
}

}  // namespace wick::cuda
