#include "backends/cuda/input_rows.cuh"
#include "backends/cuda/packed_product.cuh"

namespace wick::cuda {
namespace {

constexpr int kMostTokens = 8, kMostWarps = 24, kMostStages = 4;
constexpr int kPartialFloats = kParts * 32 * 4;  // what the lanes of all parts have of a tile
constexpr int kBarrierBytes = kMostWarps * kMostStages * 8;

// How the work is shared: `team` warps, a power of two, take a tile together, each kParts / team parts of k.
struct Teams {
  int tiles = 0, first[kMostJobs] = {};  // of the jobs
  int warps = 0, team = 1, stages = 2;
};

// What a warp has of its rows at a time, in shared memory: kSupers of each.
template <typename Block, int kSupers>
struct Stage {
  static constexpr int kBytes = kSupers * Fragments<Block>::kBytes;
  // Of a row; one that starts anywhere within 16 bytes brings up to 30 more. Eight rows lie in different banks.
  static constexpr int kPitch =
      Fragments<Block>::kWhole ? kBytes + (kBytes % 32 == 0 ? 16 : 0) : (kBytes + 15 + 15) / 16 * 16;
  static constexpr int kTotal = kRows * kPitch;
};

// Copies of a warp's stages that are under way: by the copy engine from compute capability 9.0 on, each counted by a
// barrier of its own, else by the lanes.
struct Copies {
  uint32_t barriers;  // of this warp, in shared memory

  __device__ Copies(char* memory, int warp, int lane, int stages)
      : barriers(shared_address(memory) + static_cast<uint32_t>(warp * kMostStages * 8)) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    if (lane < stages) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barriers + static_cast<uint32_t>(lane * 8))
                   : "memory");
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
#endif
  }
  // Lane r below 16 has row r: `bytes` from `from` on, all of `total` for the 16 rows, multiples of 16.
  __device__ __forceinline__ void start(int slot, uint32_t place, const uint8_t* from, int bytes, int total, int lane) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t barrier = barriers + static_cast<uint32_t>(slot * 8);
    if (lane == 0) {
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(total) : "memory");
    }
    __syncwarp();
    if (lane < kRows) {
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place),
          "l"(from), "r"(bytes), "r"(barrier)
          : "memory");
    }
#else
    const auto address = reinterpret_cast<uint64_t>(from);
    for (int row = 0; row < kRows; ++row) {
      const auto* source = reinterpret_cast<const uint8_t*>(__shfl_sync(0xffffffffu, address, row));
      const uint32_t target = __shfl_sync(0xffffffffu, place, row);
      const int until = __shfl_sync(0xffffffffu, bytes, row);
      for (int at = lane * 16; at < until; at += 32 * 16) copy_async(target + static_cast<uint32_t>(at), source + at);
    }
    commit_copies();
#endif
  }
  __device__ __forceinline__ void wait(int slot, uint32_t parity) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    const uint32_t barrier = barriers + static_cast<uint32_t>(slot * 8);
    uint32_t done = 0;
    while (!done) {
      asm volatile(
          "{\n.reg .pred there;\n"
          "mbarrier.try_wait.parity.shared::cta.b64 there, [%1], %2;\n"
          "selp.u32 %0, 1, 0, there;\n}"
          : "=r"(done)
          : "r"(barrier), "r"(parity)
          : "memory");
    }
#else
    wait_copies<0>();
#endif
    __syncwarp();
  }
};

// Rows of a tile. Gated: the first half from gate, the second the same rows of up.
__device__ __forceinline__ TilePlace tile_place(const WeightPlan& plan, const Teams& teams, int tile) {
  if (plan.gated) return {0, tile * (kRows / 2)};
  if (plan.count == 1 || tile < teams.first[1]) return {0, tile * kRows};
  const int job = plan.count == 2 || tile < teams.first[2] ? 1 : 2;
  return {job, (tile - (job == 1 ? teams.first[1] : teams.first[2])) * kRows};
}

// Up to 8 rows of x against all weights. Each warp streams its blocks through shared memory with its own copies, from
// tile to tile without a break; they are on their way before x is read. `ready`: rows of x in f16 in the order of the
// fragments; null: made here of the one row.
template <typename Block, typename X, int kSupers>
__global__ void __launch_bounds__(kMostWarps * 32, 1)
    packed_rows_kernel(const __grid_constant__ WeightPlan plan, const __grid_constant__ Teams teams,
                       const uint4* ready, const float* inverses) {
  using Format = Fragments<Block>;
  using S = Stage<Block, kSupers>;
  extern __shared__ __align__(128) char memory[];
  __shared__ typename InputRow<X, true>::Shared reduced;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto k = static_cast<int>(plan.k), m = static_cast<int>(plan.m);
  const int padded = static_cast<int>(packed_columns(k)), size = static_cast<int>(part_size(padded));
  const int team = warp / teams.team, in_team = warp & (teams.team - 1), parts = kParts / teams.team;
  const int team_count = teams.warps / teams.team;
  const int step = static_cast<int>(gridDim.x) * team_count;
  const int first_tile = team * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x);

  char* ring = memory + kBarrierBytes + warp * teams.stages * S::kTotal;
  Copies copies(memory, warp, lane, teams.stages);
  const auto row_of = [&](const TilePlace& place, int row) {
    const int other = plan.gated ? row / (kRows / 2) : 0, at = plan.gated ? row % (kRows / 2) : row;
    const WeightJob& job = plan.jobs[place.job + other];
    return static_cast<const uint8_t*>(job.weights) + min(place.first_row + at, static_cast<int>(job.n) - 1) * plan.ld;
  };
  // What is copied next; lanes r and r + 16 know row r.
  struct {
    const uint8_t* row;
    int tile, part, super, last, slot;
  } next;
  const uint32_t own_place = shared_address(ring) + static_cast<uint32_t>(lane % kRows * S::kPitch);
  const auto enter_part = [&](int i) {
    const PartOfColumns part(padded, size, in_team * parts + i);
    next.part = i;
    next.super = part.first_super;
    next.last = part.last_super;
  };
  const auto enter_tile = [&](int tile) {
    next.tile = tile;
    if (tile >= teams.tiles) return;
    next.row = row_of(tile_place(plan, teams, tile), lane % kRows);
    enter_part(0);
  };
  const auto start_next = [&] {
    while (next.tile < teams.tiles && next.super >= next.last) {
      next.part + 1 < parts ? enter_part(next.part + 1) : enter_tile(next.tile + step);
    }
    if (next.tile >= teams.tiles) return;
    const int at = next.super * Format::kBytes, count = min(kSupers, next.last - next.super);
    const int bytes = min(count * Format::kBytes, static_cast<int>(plan.ld) - at);
    const uint8_t* from = next.row + at;
    const uint32_t place = own_place + static_cast<uint32_t>(next.slot * S::kTotal);
    if constexpr (Format::kWhole) {
      copies.start(next.slot, place, from, bytes, kRows * bytes, lane);
    } else {  // up to 15 bytes before and behind come along, all within the matrix's memory
      const int low = low_bits<Block>(from), whole = (low + bytes + 15) / 16 * 16;
      const unsigned mine = lane < kRows ? static_cast<unsigned>(whole) : 0;
      copies.start(next.slot, place, from - low, whole, static_cast<int>(__reduce_add_sync(0xffffffffu, mine)), lane);
    }
    next.super += kSupers;
    if (++next.slot == teams.stages) next.slot = 0;
  };
  next.slot = 0;
  let_next_start();
  if (!plan.steady) wait_for_previous();
  fetch_norm(plan);
  enter_tile(first_tile);
  for (int i = 0; i < teams.stages - 1; ++i) start_next();
  if (plan.steady) wait_for_previous();

  // x in f16, [m, pitch]: what lane t needs for two steps lies together.
  auto* partials = reinterpret_cast<float*>(memory + kBarrierBytes + teams.warps * teams.stages * S::kTotal);
  auto* factors = partials + (teams.team > 1 ? team_count * 2 * kPartialFloats : 0);
  auto* x = reinterpret_cast<char*>(factors + kMostTokens);
  const int pitch = padded * 2 + 64;
  if (ready) {
    if (threadIdx.x < m) factors[threadIdx.x] = inverses[threadIdx.x];
    const int chunks = padded / 8;
    for (int token = 0; token < m; ++token) {
      for (int i = threadIdx.x; i < chunks; i += blockDim.x) {
        *reinterpret_cast<uint4*>(x + token * pitch + i * 16) = ready[token * chunks + i];
      }
    }
  } else if (threadIdx.x < kThreads) {
    const InputRow<X, true> row(plan, 0, reduced);
    const float factor = row_factor(row.most());
    if (threadIdx.x == 0) factors[0] = 1 / factor;
    // The columns of a thread are whole supers apart.
    static_assert(kThreads * 4 % kSuper == 0);
    const int own = static_cast<int>(threadIdx.x) * 4;
    char* first = x + fragment_byte(Format::kOrder, own) - own * 2;
    row.each([&](int64_t at, float4 four) {
      *reinterpret_cast<uint2*>(first + static_cast<int>(at) * 2) = ordered(four, factor);
    });
    for (int at = k + own; at < padded; at += kThreads * 4) {
      *reinterpret_cast<uint2*>(x + fragment_byte(Format::kOrder, at)) = {0, 0};
    }
  }
  __syncthreads();

  const char* x_row = x + (g < m ? g : 0) * pitch + t * 16;  // rows beyond m go nowhere
  int turn = 0, slot = 0;
  uint32_t parity = 0;
  for (int tile = first_tile; tile < teams.tiles; tile += step, ++turn) {
    const bool finishes = (turn & (teams.team - 1)) == in_team;
    int upper_low = 0, lower_low = 0;
    if constexpr (!Format::kWhole) {
      const TilePlace place = tile_place(plan, teams, tile);
      upper_low = low_bits<Block>(row_of(place, g));
      lower_low = low_bits<Block>(row_of(place, g + 8));
    }
    float* partial = partials + (team * 2 + turn % 2) * kPartialFloats;
    float total[4] = {};
    for (int i = 0; i < parts; ++i) {
      const PartOfColumns part(padded, size, in_team * parts + i);
      float sum[1][4] = {};
      for (int super = part.first_super; super < part.last_super; super += kSupers) {
        copies.wait(slot, parity);
        start_next();
        const auto* blocks = reinterpret_cast<const uint8_t*>(ring + slot * S::kTotal);
        if (++slot == teams.stages) {
          slot = 0;
          parity ^= 1;
        }
        const auto row_bytes = [&](int row, int low) {
          return blocks + row * S::kPitch + (Format::kWhole ? 0 : (low + super * Format::kBytes) & 15);
        };
        const uint8_t *upper = row_bytes(g, upper_low), *lower = row_bytes(g + 8, lower_low);
#pragma unroll
        for (int j = 0; j < kSupers; ++j) {
          if (j > 0 && super + j >= part.last_super) break;
          multiply_super<Format>(sum, upper + j * Format::kBytes, lower + j * Format::kBytes, t,
                                 (k - (super + j) * kSuper) / 32, x_row + (super + j) * kSuper * 2, 0, part, super + j);
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
    const auto out_place = [&](int e) { return int64_t{2 * t + e % 2} * job.n + place.first_row + g + e / 2 * 8; };
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
}

template <typename Block, int kSupers>
size_t shared_bytes(const Teams& teams, int64_t m, int64_t k) {
  const int partials = teams.team > 1 ? teams.warps / teams.team * 2 * kPartialFloats * 4 : 0;
  return static_cast<size_t>(kBarrierBytes + teams.warps * teams.stages * Stage<Block, kSupers>::kTotal + partials +
                             kMostTokens * 4 + m * (packed_columns(k) * 2 + 64));
}

#ifdef PACKED_BENCH
}
int force_warps = 0, force_team = 0, force_stages = 0, force_supers = 0;
namespace {
#else
constexpr int force_warps = 0, force_team = 0, force_stages = 0, force_supers = 0;
#endif

// The teams that leave the fewest warps idle in the last round; of those the most warps. No warps: there is no room.
template <typename Block, int kSupers>
Teams teams_for(const Runtime& use, const WeightPlan& plan) {
  Teams best;
  int tiles = 0;
  for (int i = 0; i < plan.count; ++i) {
    best.first[i] = tiles;
    const int64_t each = plan.gated ? kRows / 2 : kRows;
    if (i == 0 || !plan.gated) tiles += static_cast<int>((plan.jobs[i].n + each - 1) / each);
  }
  best.tiles = tiles;
  int best_cost = std::numeric_limits<int>::max();
  for (const int warps : {24, 16, 12, 8}) {
    for (const int team : {8, 4, 2, 1}) {
      if (warps % team != 0 || (force_warps && (warps != force_warps || team != force_team))) continue;
      Teams teams = best;
      teams.warps = warps;
      teams.team = team;
      if (force_stages) teams.stages = force_stages;
      const int at_once = use.multiprocessors * (warps / team);
      const int cost = (tiles + at_once - 1) / at_once * (warps / team);  // tiles for which a multiprocessor has time
      const size_t shared = shared_bytes<Block, kSupers>(teams, plan.m, plan.k);
      if (cost >= best_cost || shared > static_cast<size_t>(use.shared_bytes - 1024)) continue;
      best = teams;
      best_cost = cost;
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

template <typename Block, typename X, int kSupers>
void launch_kernel(Device device, const WeightPlan& plan, const Teams& teams, const char* ready,
                   const float* inverses) {
  const Runtime& use = runtime(device);
  const int team_count = teams.warps / teams.team;
  const int blocks = std::min((teams.tiles + team_count - 1) / team_count, use.multiprocessors);
  allow_shared<packed_rows_kernel<Block, X, kSupers>>(device, use.shared_bytes - 1024);
  launch_dependent(device, "matmul", packed_rows_kernel<Block, X, kSupers>, static_cast<unsigned>(blocks),
                   static_cast<unsigned>(teams.warps * 32), shared_bytes<Block, kSupers>(teams, plan.m, plan.k), plan,
                   teams, reinterpret_cast<const uint4*>(ready), inverses);
}

template <typename Block, typename X, int kSupers>
void launch_rows(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  if (plan.m == 1) {
    return launch_kernel<Block, X, kSupers>(device, plan, teams_for<Block, kSupers>(use, plan), nullptr, nullptr);
  }
  WeightPlan some = plan;
  some.m = std::min<int64_t>(plan.m, kMostTokens);
  Teams teams = teams_for<Block, kSupers>(use, some);
  while (teams.warps == 0) {
    some.m /= 2;
    teams = teams_for<Block, kSupers>(use, some);
  }
  const int64_t row_bytes = packed_columns(plan.k) * 2;
  const Scratch ready(device, static_cast<size_t>(plan.m * row_bytes)),
      inverses(device, static_cast<size_t>(plan.m) * sizeof(float));
  scale_rows(device, plan, Fragments<Block>::kOrder, true, row_bytes / 2, ready.as<__half>(), inverses.as<float>());
  for (int64_t row = 0; row < plan.m; row += some.m) {
    const WeightPlan part = rows_of<X>(plan, row, std::min(some.m, plan.m - row));
    launch_kernel<Block, X, kSupers>(device, part, teams, ready.as<const char>() + row * row_bytes,
                                     inverses.as<const float>() + row);
  }
}

constexpr int kUsualSupers = 1;

}  // namespace

bool has_room_for_packed_row(const Runtime& use, const WeightPlan& plan) {
  WeightPlan one = plan;
  one.m = 1;
  bool room = false;
  visit_packed(plan.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Fragments<Block>::kKnown) room = teams_for<Block, kUsualSupers>(use, one).warps > 0;
  });
  return room;
}

void multiply_packed_rows(Device device, const WeightPlan& plan) {
  visit_fragments(plan, [&](auto block, auto x) {
#ifdef PACKED_BENCH
    if constexpr (sizeof(block) == 144 || sizeof(block) == 210) {
      if (force_supers == 2) return launch_rows<decltype(block), decltype(x), 2>(device, plan);
    }
#endif
    launch_rows<decltype(block), decltype(x), kUsualSupers>(device, plan);
  });
}

}  // namespace wick::cuda
