#include "backends/cuda/quant/packed_product.cuh"
#include "backends/cuda/runtime/block_cluster.cuh"

// Many rows of x against packed weights, read as they are: a block has 128 rows of weights and some of x. On Hopper, up
// to kMostTeamRows: each block has one part of k, and the blocks of all parts, a cluster, add up what they have through
// each other's shared memory. Elsewhere a block has all parts, one after the other.
namespace wick::cuda {
namespace {

constexpr int kWarps = 8, kTileRows = kWarps * kRows, kStages = 2;
// Bytes of a row of x in shared memory; two that are read together lie in other banks.
constexpr int kPitch = kSuperBlock + 64;

// How the rows of a tile are shared among the warps.
template <int kTokens>
struct Shares {
  static constexpr int kTokenWarps = kTokens / 32 > 0 ? kTokens / 32 : 1;
  static constexpr int kTiles = kTokens / kTokenWarps / 8;  // of 8 rows of x
  static constexpr int kRowTiles = kTokenWarps;             // of 16 rows of weights
  static_assert(kWarps / kTokenWarps * kRowTiles * kRows == kTileRows);
};

template <typename Block>
constexpr int ring_bytes() {
  return kWarps * kStages * Stage<Block>::kTotal;
}
template <typename Block, int kTokens>
constexpr int input_bytes() {
  return kStages * kTokens * (kPitch + static_cast<int>(sizeof(InputScalesOf<Codes<Block>>)));
}
template <typename Block, int kTokens, int kTeam>
constexpr size_t shared_bytes() {
  return static_cast<size_t>(ring_bytes<Block>() +
                             std::max(input_bytes<Block, kTokens>(), kTeam > 1 ? kTokens * kTileRows * 4 : 0));
}

// The grid is [kTeam or tiles of x, row tiles]; a team of kTeam blocks is a cluster.
template <typename Block, int kTokens, int kTeam>
__global__ void __launch_bounds__(kWarps * 32, 2)
    packed_tile_kernel(const __grid_constant__ WeightPlan plan, PackedRows x) {
  using Format = Codes<Block>;
  using S = Stage<Block>;
  using Scales = InputScalesOf<Codes<Block>>;
  using Share = Shares<kTokens>;
  constexpr int kTiles = Share::kTiles, kRowTiles = Share::kRowTiles;
  extern __shared__ __align__(128) char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int super_blocks = super_blocks_of(k), of_part = super_blocks_of_part(super_blocks),
            padded = super_blocks * kSuperBlock;
  const int rank = kTeam > 1 ? static_cast<int>(blockIdx.x) : 0;
  const int first_token = kTeam > 1 ? 0 : static_cast<int>(blockIdx.x) * kTokens;
  const int first_super_block = kTeam > 1 ? min(super_blocks, rank * of_part) : 0;
  const int last_super_block = kTeam > 1 ? min(super_blocks, first_super_block + of_part) : super_blocks;
  const TilePlace place = place_of_tile<kTileRows>(plan, static_cast<int>(blockIdx.y));
  const WeightJob& job = plan.jobs[place.job];
  const auto row_of = [&](int row) {
    return static_cast<const uint8_t*>(job.weights) + min(place.first_row + row, static_cast<int>(job.n) - 1) * plan.ld;
  };
  char *ring = memory, *rows = memory + ring_bytes<Block>();
  auto* x_scales = reinterpret_cast<Scales*>(rows + kStages * kTokens * kPitch);

  // Each warp copies 16 rows.
  const uint8_t *upper_row = row_of(warp * kRows + g), *lower_row = row_of(warp * kRows + g + 8);
  const auto start_weights = [&](int super_block) {
    if (super_block < last_super_block) {
      const int bytes = min(S::kBytes, static_cast<int>(plan.ld) - super_block * S::kBytes);
      const uint32_t to = shared_address(ring) +
                          static_cast<uint32_t>((super_block % kStages * kWarps + warp) * S::kTotal + g * S::kPitch);
      copy_row<Block>(upper_row + super_block * S::kBytes, to, bytes, t);
      copy_row<Block>(lower_row + super_block * S::kBytes, to + 8 * S::kPitch, bytes, t);
    }
  };
  const auto start_x = [&](int super_block) {
    if (super_block < last_super_block) {
      const int stage = super_block % kStages * kTokens;
      constexpr int kChunks = kSuperBlock / 16, kScaleChunks = sizeof(Scales) / 16;
      for (int i = threadIdx.x; i < kTokens * kChunks; i += kWarps * 32) {
        const int token = i / kChunks, chunk = i % kChunks;
        copy_async(
            shared_address(rows + (stage + token) * kPitch + chunk * 16),
            x.codes + int64_t{min(first_token + token, m - 1)} * padded + super_block * kSuperBlock + chunk * 16);
      }
      for (int i = threadIdx.x; i < kTokens * kScaleChunks; i += kWarps * 32) {
        const int token = i / kScaleChunks, chunk = i % kScaleChunks;
        const int64_t at = int64_t{min(first_token + token, m - 1)} * super_blocks + super_block;
        copy_async(shared_address(x_scales + stage + token) + static_cast<uint32_t>(chunk * 16),
                   x.scales + at * static_cast<int64_t>(sizeof(Scales)) + chunk * 16);
      }
    }
  };
  launch_dependents();
  if (!plan.steady) wait_for_prerequisites();
  start_weights(first_super_block);
  if (plan.steady) wait_for_prerequisites();
  start_x(first_super_block);
  commit_copies();
  Format::fetch_codebook(plan.codebook, threadIdx.x, kWarps * 32);

  // What this warp multiplies.
  const int own_row = warp / Share::kTokenWarps * kRowTiles * kRows, own_token = warp % Share::kTokenWarps * kTiles * 8;
  int shifts[2 * kRowTiles];  // of rows in the ring
#pragma unroll
  for (int i = 0; i < 2 * kRowTiles; ++i) shifts[i] = low_bits<Block>(row_of(own_row + g + 8 * i));
  float sum[kRowTiles][kTiles][4] = {}, total[kRowTiles][kTiles][4] = {};
  const auto each_sum = [&](const auto& body) {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int e = 0; e < 4; ++e) body(r, tile, e);
      }
    }
  };
  for (int super_block = first_super_block, in_part = 0; super_block < last_super_block; ++super_block) {
    start_weights(super_block + 1);
    start_x(super_block + 1);
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    const int stage = super_block % kStages;
    const auto* blocks = reinterpret_cast<const uint8_t*>(ring + stage * kWarps * S::kTotal);
    const uint8_t* own[2 * kRowTiles];
#pragma unroll
    for (int i = 0; i < 2 * kRowTiles; ++i) {
      const int shift = Format::kWhole ? 0 : (shifts[i] + super_block * S::kBytes) & 15;
      own[i] = blocks + (own_row + g + 8 * i) * S::kPitch + shift;
    }
    const char* b = rows + (stage * kTokens + own_token + g) * kPitch + t * 16;
    multiply_super_block<Format, Format::kWhole>(
        sum, own, (k - super_block * kSuperBlock) / 32, g, t, b, 8 * kPitch,
        [&](int token) { return x_scales + stage * kTokens + own_token + token; });
    if constexpr (kTeam == 1) {
      if (++in_part == of_part || super_block + 1 == super_blocks) {
        in_part = 0;
        each_sum([&](int r, int tile, int e) {
          total[r][tile][e] += sum[r][tile][e];
          sum[r][tile][e] = 0;
        });
      }
    }
    __syncthreads();
  }
  wait_copies<0>();
  __syncthreads();

  const auto row_of_sum = [&](int r, int e) { return own_row + r * kRows + g + e / 2 * 8; };
  const auto token_of_sum = [&](int tile, int e) { return own_token + tile * 8 + 2 * t + e % 2; };
  if constexpr (kTeam == 1) {
    each_sum([&](int r, int tile, int e) {
      const int row = place.first_row + row_of_sum(r, e), token = first_token + token_of_sum(tile, e);
      if (token < m && row < job.n) store_product(plan.x_dtype, job, token, row, total[r][tile][e]);
    });
  } else {
    auto* partial = reinterpret_cast<float*>(rows);  // [kTokens, kTileRows]
    each_sum([&](int r, int tile, int e) {
      partial[token_of_sum(tile, e) * kTileRows + row_of_sum(r, e)] = sum[r][tile][e];
    });
    BlockCluster<kTeam>::sync();
    constexpr int kQuads = kTokens * kTileRows / 4 / kTeam;  // of each block
    for (int i = threadIdx.x; i < kQuads; i += kWarps * 32) {
      const int quad = rank * kQuads + i, token = quad / (kTileRows / 4), row = quad % (kTileRows / 4) * 4;
      if (token >= m) break;
      float4 all = {0, 0, 0, 0};
#pragma unroll
      for (uint32_t from = 0; from < kTeam; ++from) {
        const float4 four = BlockCluster<kTeam>::read_four(shared_address(partial + quad * 4), from);
        all.x += four.x;
        all.y += four.y;
        all.z += four.z;
        all.w += four.w;
      }
      const float results[4] = {all.x, all.y, all.z, all.w};
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int at = place.first_row + row + e;
        if (at < job.n) store_product(plan.x_dtype, job, token, at, results[e]);
      }
    }
    BlockCluster<kTeam>::sync();
  }
}

template <typename Block, int kTokens, int kTeam>
void launch_tiles(Device device, const WeightPlan& plan, const PackedRows& x) {
  constexpr size_t kShared = shared_bytes<Block, kTokens, kTeam>();
  allow_shared<packed_tile_kernel<Block, kTokens, kTeam>>(device, static_cast<int>(kShared));
  const auto tiles = static_cast<unsigned>(tiles_of_plan<kTileRows>(plan));
  const auto across = kTeam > 1 ? unsigned{kTeam} : static_cast<unsigned>((plan.m + kTokens - 1) / kTokens);
  launch_clusters(device, "matmul", packed_tile_kernel<Block, kTokens, kTeam>, dim3(across, tiles), kTeam, kWarps * 32,
                  kShared, plan, x);
}

template <typename Block>
void launch(Device device, const WeightPlan& plan) {
  const ReadyRows ready(device, plan);
  const PackedRows x = ready.from(0);
  if (!runtime(device).hopper) return launch_tiles<Block, 64, 1>(device, plan, x);
  if (plan.m <= 16) return launch_tiles<Block, 16, kParts>(device, plan, x);
  if (plan.m <= 32) return launch_tiles<Block, 32, kParts>(device, plan, x);
  launch_tiles<Block, kMostTeamRows, kParts>(device, plan, x);
}

}  // namespace

void multiply_packed_tiles(Device device, const WeightPlan& plan) {
  visit_codes(plan.dtype, [&](auto block) { launch<decltype(block)>(device, plan); });
}

}  // namespace wick::cuda
