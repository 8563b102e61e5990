#include "backends/cuda/attention/attention_tiles.cuh"
#include "backends/cuda/gemm/ring.cuh"
#include "backends/cuda/gemm/tensor_map.h"

// Attention of many rows on Hopper. One warp fetches splits of keys and values, two warpgroups have 64 rows each:
// while one weighs scores the other multiplies. Sums are added up as in the other kernels, to the same bits.
namespace wick::cuda {
namespace {

constexpr int kGroups = 2, kThreadCount = (kGroups + 1) * 128, kTileRows = kGroups * 64;
constexpr int kBlocks = kSplit / kTokens;  // of a split
constexpr int kSlots = 6;                  // of keys or values of a split, in turn

template <int kDim>
struct HopperMemory {
  static constexpr int block = kTokens * kDim * 2;  // bytes of keys or values
  static constexpr int side = kBlocks * block;      // of a split
  static constexpr int queries = 64 * kDim * 2;     // of a group
  static constexpr int bytes = kGroups * queries + kSlots * side + kSwizzleBytes;
};

// How to fetch a plan's keys and values, as rows of 64 elements. Passed by value, so that a captured graph holds it.
struct MappedAttention {
  CUtensorMap key, value;
  AttentionPlan plan;
  int key_block, key_head, value_block, value_head;  // rows of the maps from one to the next
};

#if WICK_HOPPER
// By a warp, each of whose first lanes has a block of every split. Keys come in rows of four components with 16 tokens
// each, 128 bytes that the swizzle permutes by the row r: products that take rows of 32 bytes, whose halves change
// places every four, find component i of the four at i ^ r / 2 % 4, as QueryRows puts them too.
template <int kDim>
__device__ __forceinline__ void fetch_splits(const MappedAttention& mapped, const TileRows& tile, int kv_head,
                                             uint32_t ring, uint32_t full, uint32_t empty) {
  using M = HopperMemory<kDim>;
  const AttentionPlan& plan = mapped.plan;
  const int lane = threadIdx.x % 32;
  const int32_t* table = plan.rows.table + tile.sequence * plan.rows.table_row;
  const TileSight keys_seen(plan, tile, kTileRows);
  PipelineState<kSlots> state{0, 1};
  for (int split = keys_seen.first_split; split <= keys_seen.last_split; ++split) {
    const int block = split * kBlocks + lane;
    const bool fetches = lane < kBlocks && keys_seen.has(block);
    const int id = fetches ? table[block] : 0;
    const int bytes = __popc(__ballot_sync(0xffffffffu, fetches)) * M::block;
    const auto fetch = [&](const auto& boxes) {
      const uint32_t barrier = full + state.at * 8;
      wait_barrier(empty + state.at * 8, state.parity);
      if (lane == 0) arrive_and_expect(barrier, bytes);
      __syncwarp();
      if (fetches) boxes(ring + state.at * M::side + lane * M::block, barrier);
      state.advance();
    };
    fetch([&](uint32_t to, uint32_t barrier) {
      fetch_box(to, mapped.key, id * mapped.key_block + kv_head * mapped.key_head, 0, barrier);
    });
    fetch([&](uint32_t to, uint32_t barrier) {
#pragma unroll
      for (int d = 0; d < kDim; d += kBoxColumns) {
        fetch_box(to + d * kTokens * 2, mapped.value, id * mapped.value_block + kv_head * mapped.value_head, d,
                  barrier);
      }
    });
  }
}

// A group's queries, scaled, as the left side of products: [kDim / 64, 64 rows, 64] with the 128-byte swizzle.
template <typename T, int kDim>
class QueryRows {
 public:
  __device__ __forceinline__ QueryRows(const AttentionPlan& plan, const TileRows& tile, int first_row, int kv_head,
                                       uint32_t to)
      : plan_(plan), to_(to), warp_row_(static_cast<int>(threadIdx.x % 128 / 32) * kRows) {
    const int mine = first_row + warp_row_ + static_cast<int>(threadIdx.x % kRows);
    const int at = mine < tile.rows ? mine : tile.first_row;
    token_ = tile.start + at / plan.group;
    offset_ = token_ * plan.query_row + (kv_head * plan.group + at % plan.group) * plan.query_head;
  }

  // By each warp for 16 rows.
  __device__ __forceinline__ void write() const {
    constexpr int kLanes = kDim / 4, kEach = 32 / kLanes, kCount = kRows / kEach;  // lanes of a row, rows at a time
    const int lane = threadIdx.x % 32, r = lane % kLanes;
    float4 fours[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      fours[i] = *reinterpret_cast<const float4*>(query_of(i * kEach + lane / kLanes) + r * 4);
    }
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      float4 four = fours[i];
      if (r / 2 & 1) four = {four.y, four.x, four.w, four.z};
      if (r / 2 & 2) four = {four.z, four.w, four.x, four.y};
      asm volatile("st.shared.v2.b32 [%0], {%1, %2};" ::"r"(place(i * kEach + lane / kLanes, r * 4)),
                   "r"(round_pair<T>(four.x * plan_.scale, four.y * plan_.scale)),
                   "r"(round_pair<T>(four.z * plan_.scale, four.w * plan_.scale))
                   : "memory");
    }
  }

  // The same, rotated.
  __device__ __forceinline__ void rotate() const {
    using Rotation = HalvesRotation<kDim>;
    const float* weight = plan_.rotation.query_weight;
    const auto put = [&](int row, int d, float value) {
      const int among_four = (d ^ d / 8) & 3;
      asm volatile("st.shared.b16 [%0], %1;" ::"r"(place(row, d / 4 * 4 + among_four)),
                   "h"(bits_of(to<T>(value * plan_.scale))));
    };
    if (!Rotation::fits(plan_.rotation)) {
      for (int row = 0; row < kRows; ++row) {
        rotate_head(plan_.rotation, query_of(row), kDim, weight, __shfl_sync(0xffffffffu, token_, row),
                    [&](int d, float value) { put(row, d, value); });
      }
      return;
    }
    Rotation rotations[2];  // of this row and of the next
    float x[kRows][Rotation::kEach];
    const auto read_token = [&](int row) {
      rotations[row % 2].read_token(plan_.rotation, __shfl_sync(0xffffffffu, token_, row));
    };
#pragma unroll
    for (int row = 0; row < kRows; ++row) Rotation::read_head(query_of(row), x[row]);
    read_token(0);
    rotations[0].read_weight(weight);
    rotations[1].read_weight(weight);
#pragma unroll
    for (int row = 0; row < kRows; ++row) {
      if (row + 1 < kRows) read_token(row + 1);
      rotations[row % 2].rotate(x[row], weight != nullptr, plan_.rotation.eps,
                                [&](int d, float value) { put(row, d, value); });
    }
  }

 private:
  static __device__ __forceinline__ unsigned short bits_of(T value) {
    return *reinterpret_cast<unsigned short*>(&value);
  }
  __device__ __forceinline__ const float* query_of(int row) const {
    return plan_.query + __shfl_sync(0xffffffffu, offset_, row);
  }
  // Of component d of a row of the warp's; four neighbours lie together.
  __device__ __forceinline__ uint32_t place(int row, int d) const {
    row += warp_row_;
    return to_ + d / 64 * 64 * 128 + row * 128 + ((d % 64 / 8) ^ (row & 7)) * 16 + d % 8 * 2;
  }

  const AttentionPlan& plan_;
  uint32_t to_;
  int warp_row_, token_;  // token and query of row lane % 16 of the warp's
  int64_t offset_;
};

// Sets values of a split that are not finite to 0, by all groups; bit j of nonfinite_keys[i]: key 32 i + j had some.
// Whether there were any.
template <typename T, int kDim>
__device__ __forceinline__ bool zero_nonfinite(char* values, uint32_t* nonfinite_keys) {
  using Pair = std::conditional_t<std::is_same_v<T, __half>, __half2, __nv_bfloat162>;
  constexpr int kTaking = kGroups * 128;
  if (threadIdx.x < kTiles) nonfinite_keys[threadIdx.x] = 0;
  uint32_t zeros = 0;  // 0 times all values of this thread
#pragma unroll 4
  for (int i = threadIdx.x; i < kSplit * kDim / 8; i += kTaking) {
    const uint4 four = reinterpret_cast<const uint4*>(values)[i];
    for (const uint32_t pair : {four.x, four.y, four.z, four.w}) {
      const uint32_t none = 0;
      zeros = pack_pair(__hfma2(*reinterpret_cast<const Pair*>(&pair), *reinterpret_cast<const Pair*>(&none),
                                *reinterpret_cast<const Pair*>(&zeros)));
    }
  }
  if (!any_thread(1, kTaking, is_nonfinite<T>(zeros))) return false;
  auto* pairs = reinterpret_cast<uint32_t*>(values);
  for (int i = threadIdx.x; i < kSplit * kDim / 2; i += kTaking) {
    if (!is_nonfinite<T>(pairs[i])) continue;
    pairs[i] = 0;
    const int key = i / (kTokens * kDim / 2) * kTokens + i / 32 % kTokens;
    atomicOr(&nonfinite_keys[key / kKeys], 1u << key % kKeys);
  }
  publish_to_products();
  sync_threads(1, kTaking);
  return true;
}

// One of the warpgroups that multiply, and the 64 rows that it has of a tile.
template <typename T, int kDim>
class Group {
 public:
  using M = HopperMemory<kDim>;

  // Addresses in shared memory. Barriers of empty slots are behind those of full ones.
  __device__ __forceinline__ Group(const AttentionPlan& plan, uint32_t queries, uint32_t ring, uint32_t full,
                                   uint32_t nonfinite_keys)
      : plan_(plan),
        queries_(queries + index() * M::queries),
        ring_(ring),
        full_(full),
        nonfinite_keys_(nonfinite_keys) {}

  __device__ __forceinline__ void attend(const TileRows& tile, int kv_head) {
    const TileSight keys_seen(plan_, tile, kTileRows);
    const int first_row = tile.first_row + index() * 64;
    const QueryRows<T, kDim> queries(plan_, tile, first_row, kv_head, queries_);
    plan_.rotates_queries ? queries.rotate() : queries.write();
    publish_to_products();
    sync_threads(2 + index(), 128);
    // Found again where they are needed: registers are short.
    const auto lane_rows = [&] {
      return LaneRows(plan_, tile, first_row + static_cast<int>(threadIdx.x % 128 / 32) * kRows, kv_head);
    };
    float scores[kTiles][kKeys / 8][4];
    float whole[kDim / 2] = {}, whole_most[2] = {-INFINITY, -INFINITY}, whole_total[2] = {};
    multiply_keys(scores);
#pragma unroll 1
    for (int split = keys_seen.first_split; split <= keys_seen.last_split; ++split) {
      wait_products<0>();
      release();
      float most[2] = {-INFINITY, -INFINITY};
      if (keys_seen.masks(split) || plan_.soft_cap > 0 || plan_.slopes) {
        wait_barrier(full_ + state_.at * 8, state_.parity);
        auto* nonfinite_keys =
            static_cast<uint32_t*>(__cvta_shared_to_generic(nonfinite_keys_)) + (odd_turn_ ^= kTiles);
        auto* values = static_cast<char*>(__cvta_shared_to_generic(ring_ + state_.at * M::side));
        const bool odd = keys_seen.masks(split) && zero_nonfinite<T, kDim>(values, nonfinite_keys);
        const LaneRows rows = lane_rows();
#pragma unroll
        for (int i = 0; i < kTiles; ++i) {
          change_scores(plan_, rows, split * kTiles + i, odd ? nonfinite_keys[i] : 0, scores[i], most);
        }
      } else {
#pragma unroll
        for (int i = 0; i < kTiles; ++i) take_most(scores[i], most);
      }
      share_most(most);
      float sums[kDim / 2], total[2];
      multiply_values(most, scores, total, sums);
      float keep[2], take[2];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        total[h] += __shfl_xor_sync(0xffffffffu, total[h], 1);
        total[h] += __shfl_xor_sync(0xffffffffu, total[h], 2);
        const float top = fmaxf(whole_most[h], most[h]);
        keep[h] = shrink_to(top, whole_most[h]);
        take[h] = shrink_to(top, most[h]);
        whole_total[h] = weighted(whole_total[h], keep[h], total[h], take[h]);
        whole_most[h] = top;
      }
      wait_products<0>();
      release();
      if (split < keys_seen.last_split) multiply_keys(scores);
#pragma unroll
      for (int i = 0; i < kDim / 2; ++i) whole[i] = weighted(whole[i], keep[i / 2 % 2], sums[i], take[i / 2 % 2]);
    }

    const LaneRows rows = lane_rows();
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      if (!rows.exists[h]) continue;
      const float share = share_of(plan_, rows.head[h], whole_most[h], whole_total[h]);
      float* target = plan_.out + (int64_t{rows.row[h]} * plan_.heads + rows.head[h]) * kDim + threadIdx.x % 4 * 2;
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
        const float* two = whole + i * 4 + 2 * h;
        *reinterpret_cast<float2*>(target + i * 8) = {two[0] * share, two[1] * share};
      }
    }
  }

 private:
  static __device__ __forceinline__ int index() { return static_cast<int>(threadIdx.x / 128); }

  // The slot at hand is free for this warp.
  __device__ __forceinline__ void release() {
    if (threadIdx.x % 32 == 0) arrive(full_ + (kSlots + state_.at) * 8);
    state_.advance();
  }

  // Begins the products of the queries with the keys of the slot at hand.
  __device__ __forceinline__ void multiply_keys(float (&scores)[kTiles][kKeys / 8][4]) {
    // Rows of 32 bytes, 8 after 256 of them; the next 16 keys are a block on.
    constexpr uint32_t kLayout = 3u << 30 | 256 >> 4;
    const uint32_t keys = (ring_ + state_.at * M::side) >> 4 | uint32_t{M::block >> 4} << 16;
    const uint32_t query = held(describe(queries_));  // or eight of them would be kept
    auto& sum = reinterpret_cast<float(&)[64]>(scores);
    wait_barrier(full_ + state_.at * 8, state_.parity);
    begin_products();
    multiply_columns_async<T, kLayout, false>(sum, query, keys);
#pragma unroll
    for (int i = 1; i < kDim / 16; ++i) {
      multiply_columns_async<T, kLayout, true>(sum, query + i / 4 * 512 + i % 4 * 2, keys + i * 32);
    }
    end_products();
  }

  // Begins the products of the weights with the values of the slot at hand, the first ones while the last scores become
  // weights.
  __device__ __forceinline__ void multiply_values(const float (&most)[2], const float (&scores)[kTiles][kKeys / 8][4],
                                                  float (&total)[2], float (&sums)[kDim / 2]) {
    // 64 components of a token are a row of 128 bytes, 8 tokens after 1024 of them; the next 64 are 16 rows on.
    constexpr uint32_t kLayout = 1u << 30 | kSwizzleBytes >> 4;
    const uint32_t values = (ring_ + state_.at * M::side) >> 4 | (kTokens * 128u >> 4) << 16;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      // Not in place: what products wrote must not change while others are under way.
      float tile[kKeys / 8][4], local[2];
#pragma unroll
      for (int j = 0; j < kKeys / 2; ++j) tile[j / 4][j % 4] = scores[i][j / 4][j % 4];
      weigh_scores(most, tile, local);
#pragma unroll
      for (int h = 0; h < 2; ++h) total[h] = i == 0 ? local[h] : total[h] + local[h];
      uint32_t weights[2][4];
      pack_weights<T>(tile, 0, weights[0]);
      pack_weights<T>(tile, 1, weights[1]);
      // Each time, or the compiler would put all products behind the last weights.
      wait_barrier(full_ + state_.at * 8, state_.parity);
      begin_products();
      multiply_columns_async<T, kDim, kLayout>(i > 0, sums, weights[0], values + 2 * i * (M::block >> 4));
      multiply_columns_async<T, kDim, kLayout>(true, sums, weights[1], values + (2 * i + 1) * (M::block >> 4));
      end_products();
    }
  }

  const AttentionPlan& plan_;
  uint32_t queries_, ring_, full_, nonfinite_keys_;
  PipelineState<kSlots> state_{0, 0};
  int odd_turn_ = 0;
};
#endif

template <typename T, int kDim>
__global__ void __launch_bounds__(kThreadCount, 1) hopper_kernel(const __grid_constant__ MappedAttention mapped) {
#if WICK_HOPPER
  using M = HopperMemory<kDim>;
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * kSlots];
  __shared__ uint32_t nonfinite_keys[2][kTiles];  // in turn: one group may be a split behind
  const uint32_t queries = held((shared_address(memory) + kSwizzleBytes - 1) / kSwizzleBytes * kSwizzleBytes);
  const uint32_t full = held(shared_address(barriers)), empty = full + kSlots * 8;
  const uint32_t ring = queries + kGroups * M::queries;
  const AttentionPlan& plan = mapped.plan;
  const int warp = threadIdx.x / 32, kv_head = static_cast<int>(blockIdx.x) % plan.pool.kv_heads;
  launch_dependents();
  if (threadIdx.x == 0) {
    for (int i = 0; i < kSlots; ++i) {
      init_barrier(full + i * 8, 1);
      init_barrier(empty + i * 8, kGroups * 4);  // a lane of each warp that reads what was fetched here
    }
    publish_barriers();
  }
  __syncthreads();
  wait_for_prerequisites();
  TileRows tile;
  const int last_first = static_cast<int>(gridDim.x - 1 - blockIdx.x);  // those with most keys
  if (!find_tile(plan, last_first / plan.pool.kv_heads, kTileRows, tile)) return;
  if (warp >= kGroups * 4) {
    give_registers<24>();
    if (warp == kGroups * 4) fetch_splits<kDim>(mapped, tile, kv_head, ring, full, empty);
  } else {
    take_registers<240>();
    Group<T, kDim>(plan, queries, ring, full, shared_address(nonfinite_keys)).attend(tile, kv_head);
  }
#endif
}

template <typename T, int kDim>
void launch(Device device, const AttentionPlan& plan) {
  const PoolPlan& pool = plan.pool;
  const DType dtype = std::is_same_v<T, __half> ? DType::kF16 : DType::kBF16;
  MappedAttention mapped{};
  mapped.plan = plan;
  mapped.key_block = static_cast<int>(pool.key_block / kBoxColumns);
  mapped.key_head = static_cast<int>(pool.key_head / kBoxColumns);
  mapped.value_block = static_cast<int>(pool.value_block / kDim);
  mapped.value_head = static_cast<int>(pool.value_head / kDim);
  const int64_t blocks = pool.blocks;
  mapped.key = map_rows(device, pool.key, dtype, blocks * mapped.key_block, kBoxColumns, kBoxColumns, kDim / 4);
  mapped.value = map_rows(device, pool.value, dtype, blocks * mapped.value_block, kDim, kDim, kTokens);
  allow_shared<hopper_kernel<T, kDim>>(device, HopperMemory<kDim>::bytes);
  const int64_t tiles = int64_t{plan.row_count} * plan.group / kTileRows + plan.rows.sequences;
  launch_dependent(device, "paged_attention", hopper_kernel<T, kDim>, static_cast<unsigned>(tiles * pool.kv_heads),
                   kThreadCount, HopperMemory<kDim>::bytes, mapped);
}

}  // namespace

bool fits_hopper(Device device, const AttentionPlan& plan) {
  const PoolPlan& pool = plan.pool;
  const auto in_rows = [&](int64_t block, int64_t head, int64_t row) {
    return block % row == 0 && head % row == 0 && pool.blocks * block / row < int64_t{1} << 30;
  };
  return runtime(device).hopper && !pool.key_scale && (pool.dim == 64 || pool.dim == 128) &&
         in_rows(pool.key_block, pool.key_head, kBoxColumns) && in_rows(pool.value_block, pool.value_head, pool.dim) &&
         plan.query_row % 4 == 0 && plan.query_head % 4 == 0 && aligned(plan.query, 16) && aligned(plan.out, 8);
}

void attend_on_hopper(Device device, const AttentionPlan& plan, bool half) {
  const bool narrow = plan.pool.dim == 64;
  if (half) return narrow ? launch<__half, 64>(device, plan) : launch<__half, 128>(device, plan);
  narrow ? launch<__nv_bfloat16, 64>(device, plan) : launch<__nv_bfloat16, 128>(device, plan);
}

}  // namespace wick::cuda
