#include "backends/cuda/moe/experts_plan.h"
#include "backends/cuda/quant/packed_product.cuh"

// Mixtures of packed experts for any number of tokens: a block has a tile of one expert's rows and 128 rows of its
// weights, read as they are; gated 64 of gate and the same ones of up. Where there are few blocks, teams of warps share
// the parts of k of a quarter of the rows.
namespace wick::cuda {
namespace {

constexpr int kWarps = 8;
constexpr int kPitch = kSuperBlock + 64;  // bytes of a row of x; two that are read together lie in other banks
constexpr int kTwoBlocks = 96 * 1024;

// kTokens rows of x. A stage has a super-block of the weights, of x, and its scales; of a team of kTeam warps, a
// super-block for each of them.
template <typename Block, int kTokens, int kTeam>
struct Shape {
  static constexpr int kInputs = kTokens * kTeam;  // super-blocks of x
  static constexpr int kScalesAt = kWarps * Stage<Block>::kTotal + kInputs * kPitch;
  static constexpr int kStageBytes = kScalesAt + kInputs * static_cast<int>(sizeof(InputScalesOf<Codes<Block>>));
  static constexpr int kStages = 3 * kStageBytes <= kTwoBlocks ? 3 : 2;
  static constexpr int kPartials = kStages * kStageBytes;  // float4 [kWarps / kTeam, kParts, 32]
  static constexpr int kBytes = kPartials + (kTeam > 1 ? kWarps / kTeam * kParts * 32 * 16 : 0);
};

struct TileJob {
  PackedRows x;            // [tokens or rows, k]
  const void* codebook;    // see codebook_of
  const int32_t* rows_at;  // row r of x for each of `chosen` rows; null: x is in the order of experts
  const int4* tiles;
  const int* tile_count;
  float* out;  // [rows, n] in the order of experts
  int n, k, ld, chosen;
  bool clamped;
};

// The grid is [tiles of weights, tiles of x].
template <typename Block, int kTokens, bool kGated, int kTeam>
__global__ void __launch_bounds__(kWarps * 32, 2)
    packed_experts_kernel(const __grid_constant__ TileJob job, const __grid_constant__ ExpertTable experts) {
  using Format = Codes<Block>;
  using S = Stage<Block>;
  using Scales = InputScalesOf<Format>;
  using Of = Shape<Block, kTokens, kTeam>;
  constexpr int kTiles = kTokens / 8, kStages = Of::kStages, kOut = kGated ? kRows / 2 : kRows;  // of a warp
  extern __shared__ __align__(128) char memory[];
  launch_dependents();
  wait_for_prerequisites();
  if (static_cast<int>(blockIdx.y) >= *job.tile_count) return;
  const int4 tile = job.tiles[blockIdx.y];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int super_blocks = super_blocks_of(job.k), of_part = super_blocks_of_part(super_blocks);
  const int of_member = kTeam > 1 ? kParts / kTeam * of_part : super_blocks,
            first_super_block = warp % kTeam * of_member;
  const int row_tile = warp / kTeam, first_row = (static_cast<int>(blockIdx.x) * (kWarps / kTeam) + row_tile) * kOut;
  const auto row_of = [&](const void* weights, int row) {
    return static_cast<const uint8_t*>(weights) + int64_t{min(row, job.n - 1)} * job.ld;
  };
  const uint8_t* const upper_row = row_of(experts.first[tile.x], first_row + g);
  const uint8_t* const lower_row =
      kGated ? row_of(experts.second[tile.x], first_row + g) : row_of(experts.first[tile.x], first_row + g + 8);

  // Each thread copies a chunk of some rows of x, and one of some row's scales. Rows behind the last are the last.
  constexpr int kChunks = kSuperBlock / 16, kStep = kWarps * 32 / kChunks, kCopies = (Of::kInputs + kStep - 1) / kStep;
  constexpr int kScaleChunks = sizeof(Scales) / 16;
  static_assert(Of::kInputs * kScaleChunks <= kWarps * 32 && (Of::kInputs % kStep == 0 || Of::kInputs < kStep));
  const auto source = [&](int input) {
    const int place = tile.y + min(input % kTokens, tile.z - 1);
    return int64_t{job.rows_at ? job.rows_at[place] / job.chosen : place};
  };
  const int chunk = threadIdx.x % kChunks, x_row = threadIdx.x / kChunks, scale_row = threadIdx.x / kScaleChunks;
  const char* x_from[kCopies];
#pragma unroll
  for (int i = 0; i < kCopies; ++i) {
    const int64_t super_block = source(x_row + i * kStep) * super_blocks + (x_row + i * kStep) / kTokens * of_member;
    x_from[i] = job.x.codes + super_block * kSuperBlock + chunk * 16;
  }
  const int64_t scale_super_block = source(scale_row) * super_blocks + scale_row / kTokens * of_member;
  const char* scale_from =
      job.x.scales + scale_super_block * static_cast<int64_t>(sizeof(Scales)) + threadIdx.x % kScaleChunks * 16;
  int started = 0, start_at = 0;  // super-blocks of each member of a team, and the next ones' stage
  const auto start_next = [&] {
    if (started < of_member) {
      const uint32_t stage = shared_address(memory) + static_cast<uint32_t>(start_at * Of::kStageBytes);
      const int from = (first_super_block + started) * S::kBytes, bytes = min(S::kBytes, job.ld - from);
      const uint32_t weights = stage + static_cast<uint32_t>(warp * S::kTotal + g * S::kPitch);
      const auto has = [&](int input) { return input / kTokens * of_member + started < super_blocks; };
      if (kTeam == 1 || first_super_block + started < super_blocks) {
        copy_row<Block>(upper_row + from, weights, bytes, t);
        copy_row<Block>(lower_row + from, weights + 8 * S::kPitch, bytes, t);
      }
      if (x_row < Of::kInputs) {
        const uint32_t codes = stage + static_cast<uint32_t>(kWarps * S::kTotal + x_row * kPitch + chunk * 16);
#pragma unroll
        for (int i = 0; i < kCopies; ++i) {
          if (kTeam > 1 && !has(x_row + i * kStep)) continue;
          copy_async(codes + i * kStep * kPitch, x_from[i] + started * kSuperBlock);
        }
      }
      if (threadIdx.x < Of::kInputs * kScaleChunks && (kTeam == 1 || has(scale_row))) {
        copy_async(stage + static_cast<uint32_t>(Of::kScalesAt) + threadIdx.x * 16,
                   scale_from + started * static_cast<int>(sizeof(Scales)));
      }
      ++started;
      start_at = start_at + 1 == kStages ? 0 : start_at + 1;
    }
    commit_copies();
  };
#pragma unroll
  for (int i = 0; i + 1 < kStages; ++i) start_next();
  Format::fetch_codebook(job.codebook, threadIdx.x, kWarps * 32);

  const int upper_low = low_bits<Block>(upper_row), lower_low = low_bits<Block>(lower_row);
  float sum[1][kTiles][4] = {}, total[kTiles][4] = {};
  auto* partials = reinterpret_cast<float4*>(memory + Of::kPartials) + row_tile * kParts * 32 + lane;
  for (int super_block = first_super_block, in_part = 0, at = 0; super_block < first_super_block + of_member;
       ++super_block) {
    wait_copies<kStages - 2>();
    __syncthreads();
    start_next();  // to the stage that all were done with before the barrier
    const char* stage = memory + at * Of::kStageBytes;
    at = at + 1 == kStages ? 0 : at + 1;
    if (kTeam > 1 && super_block >= super_blocks) continue;
    const auto* upper = reinterpret_cast<const uint8_t*>(stage) + warp * S::kTotal + g * S::kPitch;
    const uint8_t* lower = upper + 8 * S::kPitch;
    if constexpr (!Format::kWhole) {
      upper += (upper_low + super_block * S::kBytes) & 15;
      lower += (lower_low + super_block * S::kBytes) & 15;
    }
    const int input = warp % kTeam * kTokens;
    const auto* x_scales = reinterpret_cast<const Scales*>(stage + Of::kScalesAt) + input;
    multiply_super_block<Format, Format::kWhole>(sum, {upper, lower}, (job.k - super_block * kSuperBlock) / 32, g, t,
                                                 stage + kWarps * S::kTotal + (input + g) * kPitch + t * 16, 8 * kPitch,
                                                 [&](int token) { return x_scales + token; });
    if (++in_part < of_part && super_block + 1 < super_blocks) continue;
    in_part = 0;
    if constexpr (kTeam > 1) {
      static_assert(kTiles == 1);
      partials[super_block / of_part * 32] = {sum[0][0][0], sum[0][0][1], sum[0][0][2], sum[0][0][3]};
    }
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        total[i][e] += sum[0][i][e];
        sum[0][i][e] = 0;
      }
    }
  }

  if constexpr (kTeam > 1) {
    __syncthreads();
    if (warp % kTeam != 0) return;
    for (float& of : total[0]) of = 0;
    for (int part = 0; part * of_part < super_blocks; ++part) {
      const float4 of = partials[part * 32];
      total[0][0] += of.x;
      total[0][1] += of.y;
      total[0][2] += of.z;
      total[0][3] += of.w;
    }
  }

  // Of element e of a fragment: row g + e / 2 * 8 of the weights and 2t + e % 2 of x; gated: of both matrices row g.
  const auto bias_of = [&](const float* bias, int row) {
    return bias && row < job.n ? bias[int64_t{tile.x} * job.n + row] : 0;
  };
  const float upper_bias = bias_of(experts.first_bias, first_row + g);
  const float lower_bias =
      kGated ? bias_of(experts.second_bias, first_row + g) : bias_of(experts.first_bias, first_row + g + 8);
#pragma unroll
  for (int i = 0; i < kTiles; ++i) {
#pragma unroll
    for (int e = 0; e < (kGated ? 2 : 4); ++e) {
      const int token = i * 8 + 2 * t + e % 2, row = first_row + g + e / 2 * 8;
      if (token >= tile.z || row >= job.n) continue;
      float result = total[i][e] + (e < 2 ? upper_bias : lower_bias);
      if constexpr (kGated) {
        const float up = total[i][e + 2] + lower_bias;
        result = job.clamped ? clamped_gated(result, up) : gated(result, up);
      }
      job.out[int64_t{tile.y + token} * job.n + row] = result;
    }
  }
}

template <typename Block, int kTokens, bool kGated, int kTeam>
void launch(Device device, const TileJob& job, const ExpertTable& experts, unsigned most_tiles) {
  constexpr int kBytes = Shape<Block, kTokens, kTeam>::kBytes, kOut = kWarps / kTeam * (kGated ? kRows / 2 : kRows);
  allow_shared<packed_experts_kernel<Block, kTokens, kGated, kTeam>>(device, kBytes);
  launch_dependent(device, "experts", packed_experts_kernel<Block, kTokens, kGated, kTeam>,
                   dim3(blocks_for(job.n, kOut), most_tiles), kWarps * 32, kBytes, job, experts);
}

constexpr int kFewTokens = 8, kManyTokens = 32;  // of a tile
constexpr int kTeamWarps = 4;

// Whether blocks of whole warps would leave much of the device without work.
template <typename Block, bool kGated>
bool takes_teams(const Runtime& use, int64_t n, unsigned most_tiles) {
  constexpr int kOut = kWarps * (kGated ? kRows / 2 : kRows);
  const bool has_room = Shape<Block, kFewTokens, kTeamWarps>::kBytes + Codes<Block>::kCodebookBytes <= use.shared_bytes;
  return has_room && int64_t{blocks_for(n, kOut)} * most_tiles <= 4 * use.multiprocessors;
}

template <bool kGated>
void multiply(Device device, const WeightPlan& x, const PackedRows& ready, int64_t n, const ExpertTable& experts,
              const ExpertRows& order, int tile_rows, bool clamped, float* out) {
  const TileJob job{ready,
                    codebook_of(device, x.dtype),
                    kGated ? order.rows_at() : nullptr,
                    order.tiles(),
                    order.tile_count(),
                    out,
                    static_cast<int>(n),
                    static_cast<int>(x.k),
                    static_cast<int>(bytes_of(x.dtype, x.k)),
                    experts.chosen,
                    clamped};
  visit_packed(x.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Codes<Block>::kKnown) {
      const unsigned most = order.most_tiles();
      if (tile_rows == kManyTokens) return launch<Block, kManyTokens, kGated, 1>(device, job, experts, most);
      takes_teams<Block, kGated>(runtime(device), n, most)
          ? launch<Block, kFewTokens, kGated, kTeamWarps>(device, job, experts, most)
          : launch<Block, kFewTokens, kGated, 1>(device, job, experts, most);
    }
  });
}

void mix(Device device, const MixPlan& plan) {
  const int64_t rows = plan.input.m * plan.chosen;
  const int tile_rows = rows / plan.experts <= kFewTokens ? kFewTokens : kManyTokens;
  const ExpertRows order(device, plan.gates.ids, rows, plan.experts, tile_rows);
  const Scratch between(device, static_cast<size_t>(rows * plan.inner) * 4);
  const Scratch outputs(device, static_cast<size_t>(rows * plan.hidden) * 4);
  const ReadyRows x(device, plan.input);
  multiply<true>(device, plan.input, x.from(0), plan.inner, plan.gates, order, tile_rows, plan.clamped,
                 between.as<float>());
  WeightPlan inner;
  inner.m = rows;
  inner.k = plan.inner;
  inner.x = between.as<const void>();
  inner.dtype = plan.down_dtype;
  const ReadyRows packed(device, inner);
  multiply<false>(device, inner, packed.from(0), plan.hidden, plan.downs, order, tile_rows, false, outputs.as<float>());
  combine_outputs(device, outputs.as<const float>(), order, plan);
}

bool takes_format(const Runtime& use, DType dtype) {
  bool takes = false;
  visit_codes(dtype, [&](auto block) {
    using Block = decltype(block);
    takes = Shape<Block, kManyTokens, 1>::kBytes + Codes<Block>::kCodebookBytes <= use.shared_bytes;
  });
  return takes;
}

constexpr int64_t kMostBytes = int64_t{256} << 20;  // of rows between the products and behind them

}  // namespace

bool fits_packed_experts(const Runtime& use, const MixPlan& plan) {
  constexpr int64_t kMost = int64_t{1} << 20;
  return takes_format(use, plan.input.dtype) && takes_format(use, plan.down_dtype) && plan.hidden % 4 == 0 &&
         plan.inner % 4 == 0 && plan.hidden < kMost && plan.inner < kMost && aligned(plan.input.x, 16);
}

void mix_packed_experts(Device device, const MixPlan& plan) {
  const int64_t each = plan.chosen * (plan.hidden + plan.inner) * 4, most = std::max<int64_t>(kMostBytes / each, 64);
  for (int64_t first = 0; first < plan.input.m; first += most) {
    MixPlan some = plan;
    some.input.m = std::min(most, plan.input.m - first);
    some.input.x = static_cast<const float*>(plan.input.x) + first * plan.hidden;
    some.gates.ids += first * plan.chosen;
    some.downs.ids += first * plan.chosen;
    some.downs.routing_weights += first * plan.chosen;
    if (plan.residual) some.residual += first * plan.hidden;
    some.out += first * plan.hidden;
    mix(device, some);
  }
}

}  // namespace wick::cuda
