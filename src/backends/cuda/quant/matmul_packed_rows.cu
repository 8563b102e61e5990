#include "backends/cuda/quant/packed_product.cuh"

namespace wick::cuda {
namespace {

constexpr int kMostTokens = 8, kMostWarps = 24;
constexpr int kStages = 2;   // of a warp
constexpr int kRowGap = 64;  // behind a row of x: two rows that are read together are in different banks

// How the work is shared: `team` warps, a power of two, take a tile together, each kParts / team parts of k.
struct Teams {
  JobTiles<kRows> tiles;
  int warps = 0, team = 1;
};

// Up to 8 rows of x against all weights. Each warp streams its blocks through shared memory with its own copies, from
// tile to tile without a break; they are on their way before x is read.
template <typename Block>
__global__ void __launch_bounds__(kMostWarps * 32, 1)
    packed_rows_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Teams teams, PackedRows ready) {
  using Format = Codes<Block>;
  using S = Stage<Block>;
  extern __shared__ __align__(128) char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int padded = static_cast<int>(packed_columns(k));
  const int team = warp / teams.team, in_team = warp & (teams.team - 1), parts = kParts / teams.team;
  const int team_count = teams.warps / teams.team;
  const int step = static_cast<int>(gridDim.x) * team_count;
  const int first_tile = team * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
  const int super_blocks = super_blocks_of(k), of_part = super_blocks_of_part(super_blocks);
  const int first_super_block = min(super_blocks, in_team * parts * of_part);
  const int last_super_block = min(super_blocks, first_super_block + parts * of_part);

  char* ring = memory + warp * kStages * S::kTotal;
  const auto row_of = [&](const RowPlace& place, int row) {
    const int other = plan.gated ? row / (kRows / 2) : 0, at = plan.gated ? row % (kRows / 2) : row;
    const WeightJob& job = plan.jobs[place.job + other];
    return static_cast<const uint8_t*>(job.weights) + min(place.row + at, static_cast<int>(job.n) - 1) * plan.ld;
  };
  // What is copied next.
  struct {
    const uint8_t *upper, *lower;
    int tile, super_block;
    uint32_t place;
  } next;
  const uint32_t ring_start = shared_address(ring) + static_cast<uint32_t>(g * S::kPitch);
  const auto enter_tile = [&](int tile) {
    next.tile = first_super_block < last_super_block ? tile : teams.tiles.total;
    next.super_block = first_super_block;
    if (tile >= teams.tiles.total) return;
    const RowPlace place = teams.tiles.row(plan, tile, 0);
    next.upper = row_of(place, g);
    next.lower = row_of(place, g + 8);
  };
  const auto start_next = [&] {
    if (next.tile < teams.tiles.total) {
      const int at = next.super_block * S::kBytes;
      const int bytes = Format::kWhole ? S::kBytes : min(S::kBytes, static_cast<int>(plan.ld) - at);
      copy_row<Block>(next.upper + at, next.place, bytes, t);
      copy_row<Block>(next.lower + at, next.place + 8 * S::kPitch, bytes, t);
      next.place = next.place == ring_start ? ring_start + S::kTotal : ring_start;
      if (++next.super_block == last_super_block) enter_tile(next.tile + step);
    }
    commit_copies();
  };
  next.place = ring_start;
  launch_dependents();
  if (!plan.steady) wait_for_prerequisites();
  enter_tile(first_tile);
  start_next();
  if (plan.steady) wait_for_prerequisites();

  // Sums of the parts, [teams, 2, kParts, 8, pairs]: of each g the lanes t that have rows of x. Then x.
  auto* partials = reinterpret_cast<float4*>(memory + teams.warps * kStages * S::kTotal);
  const int pairs = (m + 1) / 2, part_sums = 8 * pairs;
  auto* scales = reinterpret_cast<InputScalesOf<Codes<Block>>*>(
      partials + (teams.team > 1 ? team_count * 2 * kParts * part_sums : 0));
  auto* x = reinterpret_cast<char*>(scales + m * super_blocks);
  const int pitch = padded + kRowGap;
  const int chunks = padded / 16;
  for (int token = 0; token < m; ++token) {
    for (int i = threadIdx.x; i < chunks; i += blockDim.x) {
      *reinterpret_cast<uint4*>(x + token * pitch + i * 16) =
          reinterpret_cast<const uint4*>(ready.codes)[token * chunks + i];
    }
  }
  Format::fetch_codebook(plan.codebook, threadIdx.x, blockDim.x);
  const int words = m * super_blocks * static_cast<int>(sizeof(*scales) / 16);
  for (int i = threadIdx.x; i < words; i += blockDim.x) {
    reinterpret_cast<uint4*>(scales)[i] = reinterpret_cast<const uint4*>(ready.scales)[i];
  }
  __syncthreads();

  const char* x_row = x + min(g, m - 1) * pitch + t * 16;  // rows beyond m go nowhere
  const auto* blocks = reinterpret_cast<const uint8_t*>(ring) + g * S::kPitch;
  int turn = 0, slot = 0;
  for (int tile = first_tile; tile < teams.tiles.total; tile += step, ++turn) {
    const bool finishes = (turn & (teams.team - 1)) == in_team;
    int upper_low = 0, lower_low = 0;
    if constexpr (!Format::kWhole) {
      const RowPlace place = teams.tiles.row(plan, tile, 0);
      upper_low = low_bits<Block>(row_of(place, g));
      lower_low = low_bits<Block>(row_of(place, g + 8));
    }
    float4* partial = partials + (team * 2 + turn % 2) * kParts * part_sums;
    float4* next_partial = partial + in_team * parts * part_sums + g * pairs + t;
    float total[4] = {}, sum[1][1][4] = {};
    for (int super_block = first_super_block, in_part = 0; super_block < last_super_block; ++super_block) {
      wait_copies<0>();
      __syncwarp();
      start_next();
      const uint8_t *upper = blocks + slot * S::kTotal, *lower = upper + 8 * S::kPitch;
      slot ^= 1;
      if constexpr (!Format::kWhole) {
        upper += (upper_low + super_block * S::kBytes) & 15;
        lower += (lower_low + super_block * S::kBytes) & 15;
      }
      multiply_super_block<Format, Format::kWhole>(
          sum, {upper, lower}, (k - super_block * kSuperBlock) / 32, g, t, x_row + super_block * kSuperBlock, 0,
          [&](int token) { return scales + min(token, m - 1) * super_blocks + super_block; });
      if (++in_part < of_part && super_block + 1 < last_super_block) continue;
      in_part = 0;
      if (teams.team == 1) {
#pragma unroll
        for (int e = 0; e < 4; ++e) total[e] += sum[0][0][e];
      } else if (t < pairs) {
        *next_partial = {sum[0][0][0], sum[0][0][1], sum[0][0][2], sum[0][0][3]};
        next_partial += part_sums;
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) sum[0][0][e] = 0;
    }
    // Of element e of a fragment: row g + e / 2 * 8 and token 2t + e % 2. Gated: elements 0 and 1, rows below 8.
    const RowPlace place = teams.tiles.row(plan, tile, 0);
    const WeightJob& job = plan.jobs[place.job];
    const auto is_mine = [&](int e) {
      return 2 * t + e % 2 < m && place.row + g + e / 2 * 8 < job.n && (!plan.gated || e < 2);
    };
    const auto out_place = [&](int e) { return int64_t{2 * t + e % 2} * job.n + place.row + g + e / 2 * 8; };
    float residual[4] = {};
    if (job.residual && finishes) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        if (is_mine(e)) residual[e] = job.residual[out_place(e)];
      }
    }
    if (teams.team > 1) {
      asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "r"(teams.team * 32) : "memory");
      if (!finishes) continue;
      for (int i = 0; i * of_part < super_blocks; ++i) {
        const float4 of = partial[i * part_sums + g * pairs + min(t, pairs - 1)];
        total[0] += of.x;
        total[1] += of.y;
        total[2] += of.z;
        total[3] += of.w;
      }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (!is_mine(e)) continue;
      const int row = place.row + g + e / 2 * 8;
      float product = total[e];
      if (job.bias) product += job.bias[row];
      if (plan.gated) {
        float up = total[e % 2 + 2];
        if (plan.jobs[1].bias) up += plan.jobs[1].bias[row];
        product = gated(product, up);
      }
      if (job.residual) product += residual[e];
      store_number(plan.x_dtype, job.out, out_place(e), product);
    }
  }
}

template <typename Block>
size_t shared_bytes(const Teams& teams, int64_t m, int64_t k) {
  const int64_t partials = teams.team > 1 ? teams.warps / teams.team * 2 * kParts * 8 * ((m + 1) / 2) * 16 : 0;
  const int64_t padded = packed_columns(k);
  return static_cast<size_t>(
      teams.warps * kStages * Stage<Block>::kTotal + partials +
      m * (padded + kRowGap + super_blocks_of(k) * int64_t{sizeof(InputScalesOf<Codes<Block>>)}));
}

// The teams that leave the fewest warps idle in the last round, of those the most warps in the smallest teams. No
// warps: there is no room.
template <typename Block>
Teams teams_for(const Runtime& use, const WeightPlan& plan) {
  Teams best;
  best.tiles = JobTiles<kRows>(plan);
  int best_cost = std::numeric_limits<int>::max();
  for (const int warps : {24, 16, 8}) {
    for (const int team : {1, 2, 4, 8}) {
      Teams teams = best;
      teams.warps = warps;
      teams.team = team;
      const int at_once = use.multiprocessors * (warps / team);
      const int cost =
          (best.tiles.total + at_once - 1) / at_once * (warps / team);  // tiles for which a multiprocessor has time
      const size_t shared = shared_bytes<Block>(teams, plan.m, plan.k);
      if (cost >= best_cost || shared > static_cast<size_t>(use.shared_bytes - 1024 - Codes<Block>::kCodebookBytes))
        continue;
      best = teams;
      best_cost = cost;
    }
  }
  return best;
}

// The plan for rows `first` to `first + count` of x.
WeightPlan rows_of(const WeightPlan& plan, int64_t first, int64_t count) {
  WeightPlan part = plan;
  part.m = count;
  for (int i = 0; i < plan.count; ++i) {
    WeightJob& job = part.jobs[i];
    job.out = static_cast<char*>(job.out) + first * job.n * size_of(plan.x_dtype);
    if (job.residual) job.residual += first * job.n;
  }
  return part;
}

template <typename Block>
void launch_kernel(Device device, const WeightPlan& plan, const Teams& teams, const PackedRows& ready) {
  const Runtime& use = runtime(device);
  const int team_count = teams.warps / teams.team;
  const int blocks = std::min((teams.tiles.total + team_count - 1) / team_count, use.multiprocessors);
  allow_shared<packed_rows_kernel<Block>>(device, use.shared_bytes - 1024 - Codes<Block>::kCodebookBytes);
  launch_dependent(device, "matmul", packed_rows_kernel<Block>, static_cast<unsigned>(blocks),
                   static_cast<unsigned>(teams.warps * 32), shared_bytes<Block>(teams, plan.m, plan.k), plan, teams,
                   ready);
}

template <typename Block>
void launch_rows(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  WeightPlan some = plan;
  some.m = std::min<int64_t>(plan.m, kMostTokens);
  Teams teams = teams_for<Block>(use, some);
  while (teams.warps == 0) {
    some.m /= 2;
    teams = teams_for<Block>(use, some);
  }
  const ReadyRows ready(device, plan);
  for (int64_t row = 0; row < plan.m; row += some.m) {
    const WeightPlan part = rows_of(plan, row, std::min(some.m, plan.m - row));
    launch_kernel<Block>(device, part, teams, ready.from(row));
  }
}

}  // namespace

bool has_room_for_packed_rows(const Runtime& use, const WeightPlan& plan, int64_t rows) {
  if (rows > kMostTokens) return false;
  WeightPlan some = plan;
  some.m = rows;
  bool room = false;
  visit_packed(plan.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Codes<Block>::kKnown) room = teams_for<Block>(use, some).warps > 0;
  });
  return room;
}

void multiply_packed_rows(Device device, const WeightPlan& plan) {
  visit_codes(plan.dtype, [&](auto block) { launch_rows<decltype(block)>(device, plan); });
}

}  // namespace wick::cuda
