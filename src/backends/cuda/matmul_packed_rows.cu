#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/packed_product.cuh"

namespace wick::cuda {
namespace {

constexpr int kMostTokens = 8, kMostWarps = 24;
constexpr int kPartialFloats = kParts * 32 * 4;  // what the lanes of all parts have of a tile

// How the work is shared: `team` warps take a tile together, each kParts / team parts of k.
struct Teams {
  int tiles = 0, first[kMostJobs] = {};  // of the jobs
  int warps = 0, team = 1, stages = 2;
};

struct NoExperts {};

// Rows of a tile. Gated: the first half from gate, the second the same rows of up.
__device__ __forceinline__ TilePlace tile_place(const WeightPlan& plan, const Teams& teams, int tile) {
  if (plan.gated) return {0, tile * (kRows / 2)};
  if (plan.count == 1 || tile < teams.first[1]) return {0, tile * kRows};
  const int job = plan.count == 2 || tile < teams.first[2] ? 1 : 2;
  return {job, (tile - (job == 1 ? teams.first[1] : teams.first[2])) * kRows};
}

// Until the oldest of `stages` - 1 copies has arrived.
__device__ __forceinline__ void wait_stage(int stages) {
  switch (stages) {
    case 2: return wait_copies<0>();
    case 3: return wait_copies<1>();
    case 4: return wait_copies<2>();
    default: return wait_copies<4>();
  }
}

// Up to 8 rows of x against all weights. Each warp streams its blocks through shared memory with its own copies, from
// tile to tile without a break; they are on their way before x is read. `ready`: rows of x in f16 in the order of the
// fragments; null: made here of the one row. With experts a block of the grid's second dimension has one row of x and
// the weights of the expert that was chosen for it.
template <typename Block, typename X, typename Experts>
__global__ void __launch_bounds__(kMostWarps * 32, 1)
    packed_rows_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Experts experts,
                       const __grid_constant__ Teams teams, const uint4* ready, const float* inverses) {
  using Format = Fragments<Block>;
  using S = Stage<Block>;
  extern __shared__ __align__(128) char memory[];
  __shared__ typename InputRow<X, true>::Shared reduced;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int team = warp / teams.team, in_team = warp % teams.team, parts = kParts / teams.team;
  const int team_count = teams.warps / teams.team;
  const int step = static_cast<int>(gridDim.x) * team_count;
  const int first_tile = team * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);
  constexpr bool kChooses = std::is_same_v<Experts, ExpertTable>;
  const int64_t first_token = kChooses ? blockIdx.y : 0;
  int expert = 0;

  char* ring = memory + warp * teams.stages * S::kTotal;
  const auto row_of = [&](const TilePlace& place, int row) {
    const int other = plan.gated ? row / (kRows / 2) : 0, at = plan.gated ? row % (kRows / 2) : row;
    const WeightJob& job = plan.jobs[place.job + other];
    const void* weights = job.weights;
    if constexpr (kChooses) weights = other ? experts.second[expert] : experts.first[expert];
    return static_cast<const uint8_t*>(weights) + min(place.first_row + at, static_cast<int>(job.n) - 1) * plan.ld;
  };
  // What is copied next.
  struct {
    const uint8_t *upper = nullptr, *lower = nullptr;
    int tile, part = 0, super = 0, last = 0;
    uint32_t place;
  } next;
  const uint32_t ring_start = shared_address(ring) + static_cast<uint32_t>(g * S::kPitch);
  const uint32_t ring_end = ring_start + static_cast<uint32_t>(teams.stages * S::kTotal);
  next.tile = first_tile;
  next.place = ring_start;
  const auto start_next = [&] {
    // To the next super: of this part, of the next part that has one, of the next tile.
    while (next.super == next.last && next.tile < teams.tiles) {
      if (next.part == parts) {
        next.tile += step;
        next.part = 0;
        if (next.tile >= teams.tiles) break;
      }
      if (next.part == 0) {
        const TilePlace place = tile_place(plan, teams, next.tile);
        next.upper = row_of(place, g);
        next.lower = row_of(place, g + 8);
      }
      const PartOfColumns part(k, in_team * parts + next.part++);
      next.super = part.first_super;
      next.last = part.first_super + part.supers;
    }
    if (next.tile < teams.tiles) {
      const int at = next.super * S::kBytes, bytes = min(S::kBytes, static_cast<int>(plan.ld) - at);
      copy_row<Block>(next.upper + at, next.place, bytes, t);
      copy_row<Block>(next.lower + at, next.place + 8 * S::kPitch, bytes, t);
      ++next.super;
      next.place += S::kTotal;
      if (next.place == ring_end) next.place = ring_start;
    }
    commit_copies();
  };
  let_next_start();
  if (!plan.steady) wait_for_previous();
  if constexpr (kChooses) expert = experts.ids[blockIdx.y];
  fetch_norm(plan);
  for (int i = 0; i < teams.stages - 1; ++i) start_next();
  if (plan.steady) wait_for_previous();

  // x in f16, [m, pitch]: what lane t needs for two steps lies together.
  auto* partials = reinterpret_cast<float*>(memory + teams.warps * teams.stages * S::kTotal);
  auto* factors = partials + (teams.team > 1 ? team_count * 2 * kPartialFloats : 0);
  auto* x = reinterpret_cast<char*>(factors + kMostTokens);
  const int padded = static_cast<int>(packed_columns(k)), pitch = padded * 2 + 64;
  if (ready) {
    if (threadIdx.x < m) factors[threadIdx.x] = inverses[threadIdx.x];
    const int chunks = padded / 8;
    for (int token = 0; token < m; ++token) {
      for (int i = threadIdx.x; i < chunks; i += blockDim.x) {
        *reinterpret_cast<uint4*>(x + token * pitch + i * 16) = ready[token * chunks + i];
      }
    }
  } else if (threadIdx.x < kThreads) {
    int64_t of = 0;
    if constexpr (kChooses) of = first_token / experts.per_row;
    const InputRow<X, true> row(plan, of, reduced);
    const float factor = row_factor(row.most());
    if (threadIdx.x == 0) factors[0] = 1 / factor;
    row.each([&](int64_t at, float4 four) {
      *reinterpret_cast<uint2*>(x + fragment_byte(Format::kOrder, static_cast<int>(at))) = ordered(four, factor);
    });
    for (int at = k + static_cast<int>(threadIdx.x) * 4; at < padded; at += kThreads * 4) {
      *reinterpret_cast<uint2*>(x + fragment_byte(Format::kOrder, at)) = {0, 0};
    }
  }
  __syncthreads();

  const char* x_row = x + (g < m ? g : 0) * pitch + t * 16;  // rows beyond m go nowhere
  const auto* blocks = reinterpret_cast<const uint8_t*>(ring);
  int turn = 0;
  for (int tile = first_tile; tile < teams.tiles; tile += step, ++turn) {
    const bool finishes = turn % teams.team == in_team;
    int upper_low = 0, lower_low = 0;
    if constexpr (!Format::kWhole) {
      const TilePlace place = tile_place(plan, teams, tile);
      upper_low = low_bits<Block>(row_of(place, g));
      lower_low = low_bits<Block>(row_of(place, g + 8));
    }
    float* partial = partials + (team * 2 + turn % 2) * kPartialFloats;
    float total[4] = {};
    for (int i = 0; i < parts; ++i) {
      const PartOfColumns part(k, in_team * parts + i);
      float sum[1][4] = {};
      for (int super = part.first_super; super < part.first_super + part.supers; ++super) {
        wait_stage(teams.stages);
        __syncwarp();
        start_next();
        const auto row_bytes = [&](int row, int low) {
          return blocks + row * S::kPitch + (Format::kWhole ? 0 : (low + super * S::kBytes) & 15);
        };
        multiply_super<Format>(sum, row_bytes(g, upper_low), row_bytes(g + 8, lower_low), t, (k - super * kSuper) / 32,
                               x_row + super * kSuper * 2, 0, part, super);
        blocks += S::kTotal;
        if (blocks == reinterpret_cast<const uint8_t*>(ring) + teams.stages * S::kTotal) {
          blocks = reinterpret_cast<const uint8_t*>(ring);
        }
      }
      if (teams.team == 1) {
#pragma unroll
        for (int e = 0; e < 4; ++e) total[e] += sum[0][e];
      } else {
        reinterpret_cast<float4*>(partial)[(in_team * parts + i) * 32 + lane] = {sum[0][0], sum[0][1], sum[0][2],
                                                                                 sum[0][3]};
      }
    }
    // Of element e of a fragment: row g + e / 2 * 8 and token 2t + e % 2. Gated: elements 0 and 1, rows below 8.
    const TilePlace place = tile_place(plan, teams, tile);
    const WeightJob& job = plan.jobs[place.job];
    const auto is_mine = [&](int e) {
      return 2 * t + e % 2 < m && place.first_row + g + e / 2 * 8 < job.n && (!plan.gated || e < 2);
    };
    const auto out_place = [&](int e) {
      return (first_token + 2 * t + e % 2) * job.n + place.first_row + g + e / 2 * 8;
    };
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
#pragma unroll
      for (int i = 0; i < kParts; ++i) {
        const float4 of = reinterpret_cast<const float4*>(partial)[i * 32 + lane];
        total[0] += of.x;
        total[1] += of.y;
        total[2] += of.z;
        total[3] += of.w;
      }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      if (!is_mine(e)) continue;
      const float factor = factors[2 * t + e % 2];
      const int row = place.first_row + g + e / 2 * 8;
      float product = __fmul_rn(total[e], factor);
      if (job.bias) product += job.bias[row];
      if (plan.gated) {
        float up = __fmul_rn(total[e % 2 + 2], factor);
        if (plan.jobs[1].bias) up += plan.jobs[1].bias[row];
        product = gated(product, up);
      }
      if (job.residual) product += residual[e];
      static_cast<X*>(job.out)[out_place(e)] = to<X>(product);
    }
  }
  wait_copies<0>();
}

template <typename Block>
size_t shared_bytes(const Teams& teams, int64_t m, int64_t k) {
  const int partials = teams.team > 1 ? teams.warps / teams.team * 2 * kPartialFloats * 4 : 0;
  return static_cast<size_t>(teams.warps * teams.stages * Stage<Block>::kTotal + partials + kMostTokens * 4 +
                             m * (packed_columns(k) * 2 + 64));
}

#ifdef PACKED_BENCH
}
int force_warps = 0, force_team = 0, force_stages = 0;
namespace {
#else
constexpr int force_warps = 0, force_team = 0, force_stages = 0;
#endif

// The teams that leave the fewest warps idle in the last round; the more warps the better, unless too little room is
// left for their blocks. No warps: there is no room at all.
template <typename Block>
Teams teams_for(const Runtime& use, const WeightPlan& plan, int64_t rows) {
  Teams best;
  int tiles = 0;
  for (int i = 0; i < plan.count; ++i) {
    best.first[i] = tiles;
    const int64_t each = plan.gated ? kRows / 2 : kRows;
    if (i == 0 || !plan.gated) tiles += static_cast<int>((plan.jobs[i].n + each - 1) / each);
  }
  best.tiles = tiles;
  const int64_t processors = std::max<int64_t>(use.multiprocessors / rows, 1);
  int64_t best_cost = std::numeric_limits<int64_t>::max();
  for (const int warps : {24, 16, 12, 8}) {
    for (const int team : {1, 2, 4, 8}) {
      if (warps % team != 0 || (force_warps && (warps != force_warps || team != force_team))) continue;
      Teams teams = best;
      teams.warps = warps;
      teams.team = team;
      const int64_t at_once = processors * (warps / team);
      const int64_t cost = (tiles + at_once - 1) / at_once * (warps / team);  // tiles that a multiprocessor has time for
      for (const int stages : {2, 3, 4, 6}) {
        if (force_stages && stages != force_stages) continue;
        teams.stages = stages;
        if (shared_bytes<Block>(teams, plan.m, plan.k) > static_cast<size_t>(use.shared_bytes - 1024)) break;
        if (cost < best_cost || (cost == best_cost && best.warps == warps && best.team == team &&
                                 warps * stages <= 48)) {
          best = teams;
          best_cost = cost;
        }
      }
    }
  }
  return best;
}

// The plan for rows `first` to `first + count` of x.
template <typename X>
WeightPlan rows_of(const WeightPlan& plan, int64_t first, int64_t count) {
  WeightPlan part = plan;
  part.m = count;
  for (int i = 0; i < plan.count; ++i) {
    WeightJob& job = part.jobs[i];
    job.out = static_cast<X*>(job.out) + first * job.n;
    if (job.residual) job.residual += first * job.n;
  }
  return part;
}

template <typename Block, typename X, typename Experts>
void launch_kernel(Device device, const WeightPlan& plan, const Experts& experts, const Teams& teams, unsigned rows,
                   const char* ready, const float* inverses) {
  const Runtime& use = runtime(device);
  const int team_count = teams.warps / teams.team;
  const dim3 grid(static_cast<unsigned>(std::clamp<int64_t>((teams.tiles + team_count - 1) / team_count, 1,
                                                            std::max<int64_t>(use.multiprocessors / rows, 1))),
                  rows);
  allow_shared<packed_rows_kernel<Block, X, Experts>>(device, use.shared_bytes - 1024);
  launch_dependent(device, "matmul", packed_rows_kernel<Block, X, Experts>, grid,
                   static_cast<unsigned>(teams.warps * 32), shared_bytes<Block>(teams, plan.m, plan.k), plan, experts,
                   teams, reinterpret_cast<const uint4*>(ready), inverses);
}

template <typename Block, typename X>
void launch_rows(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  if (plan.m == 1) {
    return launch_kernel<Block, X>(device, plan, NoExperts{}, teams_for<Block>(use, plan, 1), 1, nullptr, nullptr);
  }
  WeightPlan some = plan;
  some.m = std::min<int64_t>(plan.m, kMostTokens);
  Teams teams = teams_for<Block>(use, some, 1);
  while (teams.warps == 0) {
    some.m /= 2;
    teams = teams_for<Block>(use, some, 1);
  }
  const int64_t row_bytes = packed_columns(plan.k) * 2;
  const Scratch ready(device, static_cast<size_t>(plan.m * row_bytes)),
      inverses(device, static_cast<size_t>(plan.m) * sizeof(float));
  scale_rows(device, plan, Fragments<Block>::kOrder, true, row_bytes / 2, ready.as<__half>(), inverses.as<float>());
  for (int64_t row = 0; row < plan.m; row += some.m) {
    const WeightPlan part = rows_of<X>(plan, row, std::min(some.m, plan.m - row));
    launch_kernel<Block, X>(device, part, NoExperts{}, teams, 1, ready.as<const char>() + row * row_bytes,
                            inverses.as<const float>() + row);
  }
}

}  // namespace

bool has_room_for_packed_row(const Runtime& use, const WeightPlan& plan) {
  WeightPlan one = plan;
  one.m = 1;
  bool room = false;
  visit_packed(plan.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Fragments<Block>::kKnown) room = teams_for<Block>(use, one, 1).warps > 0;
  });
  return room;
}

void multiply_packed_rows(Device device, const WeightPlan& plan) {
  visit_fragments(plan, [&](auto block, auto x) { launch_rows<decltype(block), decltype(x)>(device, plan); });
}

void multiply_packed_experts(Device device, const WeightPlan& plan, const ExpertTable& experts, int64_t rows) {
  visit_packed(plan.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Fragments<Block>::kKnown) {
      launch_kernel<Block, float>(device, plan, experts, teams_for<Block>(runtime(device), plan, rows),
                                  static_cast<unsigned>(rows), nullptr, nullptr);
    }
  });
}

}  // namespace wick::cuda
