#include "backends/cuda/block_team.cuh"
#include "backends/cuda/packed_product.cuh"

// Up to 64 rows of x against packed weights that are read once, as they are: a block has 128 rows of weights and one
// part of k, and the blocks of all parts, a cluster, add up what they have through each other's shared memory.
namespace wick::cuda {
namespace {

constexpr int kWarps = 8, kTileRows = kWarps * kRows, kStages = 2;
constexpr int kPitch = kSuper * 2 + 64;  // bytes of a row of x in shared memory; eight of them lie in different banks

template <typename Block>
constexpr int ring_bytes() {
  return kWarps * kStages * Stage<Block>::kTotal;
}
template <typename Block, int kTokens>
constexpr size_t shared_bytes() {
  return static_cast<size_t>(ring_bytes<Block>() + std::max(kStages * kTokens * kPitch, kTokens * kTileRows * 4));
}

// The grid is [kParts, row tiles], a cluster for each row tile. x: rows in f16 in the order of the fragments.
template <typename Block, typename X, int kTokens>
__global__ void __launch_bounds__(kWarps * 32, 2)
    packed_tile_kernel(const __grid_constant__ WeightPlan plan, const char* x, const float* inverses) {
  using Format = Fragments<Block>;
  using S = Stage<Block>;
  constexpr int kTiles = kTokens / 8;
  extern __shared__ __align__(128) char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m), rank = static_cast<int>(blockIdx.x);
  const int padded = static_cast<int>(packed_columns(k));
  const PartOfColumns part(padded, static_cast<int>(part_size(padded)), rank);
  const int supers = part.last_super - part.first_super;
  const TilePlace place = place_of_tile<kTileRows>(plan, static_cast<int>(blockIdx.y));
  const WeightJob& job = plan.jobs[place.job];
  const auto row_of = [&](int row) {
    const int at = min(place.first_row + warp * kRows + row, static_cast<int>(job.n) - 1);
    return static_cast<const uint8_t*>(job.weights) + at * plan.ld;
  };
  const uint8_t *upper_row = row_of(g), *lower_row = row_of(g + 8);
  char* ring = memory + warp * kStages * S::kTotal;
  char* rows = memory + ring_bytes<Block>();

  const auto start_weights = [&](int i) {
    if (i < supers) {
      const int super = part.first_super + i;
      const int bytes = min(S::kBytes, static_cast<int>(plan.ld) - super * S::kBytes);
      const uint32_t to = shared_address(ring) + static_cast<uint32_t>(i % kStages * S::kTotal + g * S::kPitch);
      copy_row<Block>(upper_row + super * S::kBytes, to, bytes, t);
      copy_row<Block>(lower_row + super * S::kBytes, to + 8 * S::kPitch, bytes, t);
    }
  };
  const auto start_x = [&](int i) {
    if (i < supers) {
      const char* from = x + (part.first_super + i) * kSuper * 2;
      const uint32_t to = shared_address(rows) + static_cast<uint32_t>(i % kStages * kTokens * kPitch);
      for (int chunk = threadIdx.x; chunk < kTokens * 32; chunk += kWarps * 32) {
        const int token = chunk / 32, c = chunk % 32;
        copy_async(to + static_cast<uint32_t>(token * kPitch + c * 16),
                   from + int64_t{min(token, m - 1)} * padded * 2 + c * 16);
      }
    }
  };
  let_next_start();
  if (!plan.steady) wait_for_previous();
  start_weights(0);
  if (plan.steady) wait_for_previous();
  start_x(0);
  commit_copies();

  float sum[kTiles][4] = {};
  for (int i = 0; i < supers; ++i) {
    start_weights(i + 1);
    start_x(i + 1);
    commit_copies();
    wait_copies<1>();
    __syncthreads();
    const int super = part.first_super + i;
    const auto* blocks = reinterpret_cast<const uint8_t*>(ring + i % kStages * S::kTotal);
    const uint8_t* upper = blocks + g * S::kPitch + low_bits<Block>(upper_row + super * S::kBytes);
    const uint8_t* lower = blocks + (g + 8) * S::kPitch + low_bits<Block>(lower_row + super * S::kBytes);
    const char* b = rows + (i % kStages * kTokens + g) * kPitch + t * 16;
    multiply_super<Format, Format::kWhole>(sum, upper, lower, t, (k - super * kSuper) / 32, b, 8 * kPitch,
                                           part.quarters(super));
    __syncthreads();
  }
  wait_copies<0>();
  __syncthreads();

  auto* partial = reinterpret_cast<float*>(rows);  // [kTokens, kTileRows]
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      partial[(tile * 8 + 2 * t + e % 2) * kTileRows + warp * kRows + g + e / 2 * 8] = sum[tile][e];
    }
  }
  BlockTeam<kParts>::sync();
  constexpr int kQuads = kTokens * kTileRows / 4 / kParts;  // of each block
  for (int i = threadIdx.x; i < kQuads; i += kWarps * 32) {
    const int quad = rank * kQuads + i, token = quad / (kTileRows / 4), row = quad % (kTileRows / 4) * 4;
    if (token >= m) break;
    float total[4] = {};
#pragma unroll
    for (uint32_t from = 0; from < kParts; ++from) {
      const float4 four = BlockTeam<kParts>::read_four(shared_address(partial + quad * 4), from);
      total[0] += four.x;
      total[1] += four.y;
      total[2] += four.z;
      total[3] += four.w;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int at = place.first_row + row + e;
      if (at < job.n) store_product<X>(job, token, at, __fmul_rn(total[e], inverses[token]));
    }
  }
  BlockTeam<kParts>::sync();
}

template <typename Block, typename X, int kTokens>
void launch_tiles(Device device, const WeightPlan& plan, const char* x, const float* inverses) {
  constexpr size_t kShared = shared_bytes<Block, kTokens>();
  allow_shared<packed_tile_kernel<Block, X, kTokens>>(device, static_cast<int>(kShared));
  const int tiles = tiles_of_plan<kTileRows>(plan);
  launch_clusters(device, "matmul", packed_tile_kernel<Block, X, kTokens>, dim3(kParts, static_cast<unsigned>(tiles)),
                  kParts, kWarps * 32, kShared, plan, x, inverses);
}

template <typename Block, typename X>
void launch(Device device, const WeightPlan& plan) {
  const int64_t padded = packed_columns(plan.k);
  const Scratch ready(device, static_cast<size_t>(plan.m * padded * 2)),
      inverses(device, static_cast<size_t>(plan.m) * sizeof(float));
  scale_rows(device, plan, Fragments<Block>::kOrder, true, padded, ready.as<__half>(), inverses.as<float>());
  const auto* x = ready.as<const char>();
  const auto* factors = inverses.as<const float>();
  if (plan.m <= 16) return launch_tiles<Block, X, 16>(device, plan, x, factors);
  if (plan.m <= 32) return launch_tiles<Block, X, 32>(device, plan, x, factors);
  launch_tiles<Block, X, 64>(device, plan, x, factors);
}

}  // namespace

void multiply_packed_tiles(Device device, const WeightPlan& plan) {
  visit_fragments(plan, [&](auto block, auto x) { launch<decltype(block), decltype(x)>(device, plan); });
}

}  // namespace wick::cuda
