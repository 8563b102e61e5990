#include "backends/cuda/gemm/ring.cuh"
#include "backends/cuda/quant/packed_product.cuh"

// One row of x on Hopper, with formats by 32. A warp has two rows of weights at a time, a tile, of which the tensor
// cores see a super-block of all kParts parts of k at once: the 16 rows of their first operand are the parts of the one
// row, then those of the other, and the columns of their second operand are the parts of x. Of the results those count
// where both are of one part; the others cost nothing, because with one row of x most of what tensor cores do is for
// nothing anyway. So warps never wait for each other, and what they fetch are whole rows: pieces of rows that share
// lines of memory with other pieces cost up to a third of its rate.
namespace wick::cuda {
namespace {

constexpr int kMostWarps = 16;
constexpr int kHeldTiles = 8;  // whose sums wait to be added up, by a lane for each row
static_assert(kHeldTiles * 2 <= 32);
constexpr int kMostSlots = 5;  // for rows that a warp has or waits for; with more of them x comes late

struct Stream {
  WeightPlan plan;
  JobTiles<2> tiles;  // of an upper and a lower row; gated: of gate and of up
  int warps, slots;   // warps that multiply
};

__host__ __device__ __forceinline__ int codes_bytes(int64_t k) { return static_cast<int>(k) + kPartsGap; }
// Rows come with up to 15 bytes before and behind them, unless all of them lie at multiples of 16.
template <typename Block>
__host__ __device__ __forceinline__ int slot_bytes(const WeightPlan& plan) {
  const int row = static_cast<int>(plan.k / kSuperBlock) * Codes<Block>::kBytes;
  return plan.ld % 16 == 0 && row % 16 == 0 ? row : (row + 15 + 15) / 16 * 16;
}

template <typename Block, typename X>
__global__ void __launch_bounds__(kMostWarps * 32, 1) packed_stream_kernel(const __grid_constant__ Stream stream) {
#if WICK_HOPPER
  using Format = Codes<Block>;
  constexpr bool kAligned = Format::kBytes % 16 == 0;
  extern __shared__ __align__(128) char memory[];  // codes of x, its scales, then the slots of the warps
  __shared__ typename InputRow<X, false, false>::Shared reduced;
  __shared__ uint64_t full_barriers[kMostWarps * kMostSlots];
  __shared__ __align__(16) float sums[kMostWarps][kHeldTiles * 2 * kParts];  // of parts, of rows that are not done
  const WeightPlan& plan = stream.plan;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const int blocks = static_cast<int>(gridDim.x), tile_step = blocks * stream.warps;
  const int row_bytes = static_cast<int>(plan.k / kSuperBlock) * Format::kBytes, bytes = slot_bytes<Block>(plan);
  const int slots = stream.slots, super_blocks = super_blocks_of(plan.k), of_part = super_blocks_of_part(super_blocks);
  auto* scales = reinterpret_cast<InputScalesOf<Codes<Block>>*>(memory + codes_bytes(plan.k));
  const char* rings = reinterpret_cast<const char*>(scales + super_blocks);

  // Each warp fetches for itself, by one lane. Its next row:
  const int first_tile = warp * blocks + static_cast<int>(blockIdx.x);
  const uint32_t full = shared_address(full_barriers + warp * kMostSlots);
  const char* ring = rings + warp * slots * bytes;
  int next_tile = warp < stream.warps ? first_tile : stream.tiles.total, next_lower = 0, next_slot = 0;
  const bool fetches = is_elected();
  const auto fetch_next = [&] {
    if (!fetches || next_tile >= stream.tiles.total) return;
    const uint8_t* row = row_data(plan, stream.tiles.row(plan, next_tile, next_lower));
    const int shift = low_bits<Block>(row), size = (shift + row_bytes + 15) / 16 * 16;
    const uint32_t barrier = full + static_cast<uint32_t>(next_slot * 8);
    arrive_and_expect(barrier, size);
    fetch_bytes(shared_address(ring + next_slot * bytes), row - shift, size, barrier);
    if (++next_slot == slots) next_slot = 0;
    if (next_lower) next_tile += tile_step;
    next_lower ^= 1;
  };
  if (!plan.leads) launch_dependents();
  if (warp < stream.warps && fetches) {
#pragma unroll 1
    for (int i = 0; i < slots; ++i) init_barrier(full + static_cast<uint32_t>(i * 8), 1);
    publish_barriers();
    if (!plan.steady && !plan.follows) wait_for_prerequisites();
#pragma unroll 1
    for (int i = 0; i < slots; ++i) fetch_next();
  }
  const typename InputRow<X, false, false>::Norm norm(plan);

  if (!plan.follows) wait_for_prerequisites();
  if (plan.leads) launch_dependents();
  if (threadIdx.x < kThreads) {
    const InputRow<X, false, false> row(plan, 0, reduced, norm);
    pack_row<Format>(
        row, super_blocks, [&](int super_block) { return memory + super_block_place(super_block, of_part); },
        [&](int super_block) { return scales + super_block; });
  }
  __syncthreads();
  if (warp >= stream.warps) return;

  // The tensor cores' rows g and g + 8 are parts of one row of weights, their column g is a part of x: see
  // multiply_diagonal.
  const int part = g % 4, first_super_block = part * of_part, second_super_block = (part + kParts / 2) * of_part;
  const int x_part = min(g / 2 + g % 2 * (kParts / 2), (super_blocks - 1) / of_part);
  const char* x = memory + part_place(x_part, of_part) + t * 16;
  DynamicPipelineState state;
  const auto take_row = [&](int tile, int lower) {
    wait_barrier(full + static_cast<uint32_t>(state.at * 8), state.parity);
    const auto* row = reinterpret_cast<const uint8_t*>(ring + state.at * bytes);
    if (bytes != row_bytes) {
      row += low_bits<Block>(row_data(plan, stream.tiles.row(plan, tile, lower)));
    }
    state.advance(slots);
    return row;
  };
  for (int group = first_tile; group < stream.tiles.total; group += kHeldTiles * tile_step) {
    // Of some tiles at a time: lane 2j has the result of the upper row of tile j, lane 2j + 1 that of the lower.
    const int tile_of_lane = group + lane / 2 * tile_step;
    const RowPlace place = stream.tiles.row(plan, min(tile_of_lane, stream.tiles.total - 1), lane % 2);
    const WeightJob& job = plan.jobs[place.job];
    const bool is_there = lane < kHeldTiles * 2 && tile_of_lane < stream.tiles.total && place.row < job.n;
    const float bias = is_there && job.bias ? job.bias[place.row] : 0;
    const float residual = is_there && job.residual ? job.residual[place.row] : 0;
    float* held = sums[warp];
    for (int tile = group; tile < min(stream.tiles.total, group + kHeldTiles * tile_step); tile += tile_step) {
      const uint8_t *upper = take_row(tile, 0), *lower = take_row(tile, 1);
      const uint8_t* row = g < 4 ? upper : lower;
      float sum[2] = {};
      multiply_parts<Format, kAligned>(sum, row, row, first_super_block, second_super_block, of_part, super_blocks, t,
                                       x, scales);
      __syncwarp();
      fetch_next();
      fetch_next();
      if (t == part) {
        held[g / 4 * kParts + part] = sum[0];
        held[g / 4 * kParts + part + kParts / 2] = sum[1];
      }
      held += 2 * kParts;
    }
    __syncwarp();
    float total = 0;
    if (is_there) {
      const float* parts = sums[warp] + lane * kParts;
#pragma unroll
      for (int i = 0; i < kParts; ++i) total += parts[i];
    }
    float product = total;
    if (job.bias) product += bias;
    if (plan.gated) product = gated(product, __shfl_down_sync(0xffffffffu, product, 1));
    if (job.residual) product += residual;
    if (is_there && (!plan.gated || lane % 2 == 0)) static_cast<X*>(job.out)[place.row] = to<X>(product);
    __syncwarp();
  }
  if (plan.follows) wait_for_prerequisites();  // who waits for this kernel waits for that one, too
#endif
}

constexpr int kStaticBytes = 13 * 1024;  // at most, of shared memory
constexpr int kHalfRoom = 113 * 1024 - kStaticBytes, kSmallShare = 128 * 1024;

template <typename Block>
int shared_bytes(const WeightPlan& plan, int warps, int slots) {
  constexpr int kBehind = 16;  // words that are not aligned are read with the one behind them
  return codes_bytes(plan.k) + super_blocks_of(plan.k) * static_cast<int>(sizeof(InputScalesOf<Codes<Block>>)) +
         warps * slots * slot_bytes<Block>(plan) + kBehind;
}

// No warps: there is no room.
template <typename Block>
Stream shape_of(const Runtime& use, const WeightPlan& plan) {
  Stream stream{};
  stream.plan = plan;
  stream.tiles = JobTiles<2>(plan);
  const int room = use.shared_bytes - kStaticBytes;
  const auto try_shape = [&](int room_used, int warps, int fewest_slots) {
    int slots = kMostSlots;
    while (slots >= fewest_slots && shared_bytes<Block>(plan, warps, slots) > room_used) --slots;
    if (slots < fewest_slots) return false;
    stream.warps = warps;
    stream.slots = slots;
    return true;
  };
  // Where each multiprocessor has little to do, a block leaves room for one of the next kernel, which then starts
  // early.
  const int64_t share = int64_t{stream.tiles.total} * 2 * slot_bytes<Block>(plan) / use.multiprocessors;
  if (share <= kSmallShare && try_shape(kHalfRoom, 8, 3)) return stream;
  // As many warps as there is room for, all with the same number of tiles.
  const int tiles = (stream.tiles.total + use.multiprocessors - 1) / use.multiprocessors;
  for (int rounds = 1; rounds <= tiles; ++rounds) {
    const int warps = (tiles + rounds - 1) / rounds;
    if (warps <= kMostWarps && try_shape(room, warps, std::min(2 * rounds, 3))) break;
    if (warps < 4) break;
  }
  return stream;
}

template <typename Block, typename X>
void launch(Device device, const WeightPlan& plan) {
  const Runtime& use = runtime(device);
  const Stream stream = shape_of<Block>(use, plan);
  const int blocks = std::min(stream.tiles.total, use.multiprocessors), threads = std::max(stream.warps * 32, kThreads);
  allow_shared<packed_stream_kernel<Block, X>>(device, use.shared_bytes - kStaticBytes);
  launch_dependent(device, "matmul", packed_stream_kernel<Block, X>, static_cast<unsigned>(blocks),
                   static_cast<unsigned>(threads),
                   static_cast<size_t>(shared_bytes<Block>(plan, stream.warps, stream.slots)), stream);
}

}  // namespace

bool fits_packed_stream(const Runtime& use, const WeightPlan& plan) {
  return fits_fetched_rows<true>(use, plan, [&](auto block) { return shape_of<decltype(block)>(use, plan).warps > 0; });
}

void multiply_packed_stream(Device device, const WeightPlan& plan) {
  visit_codes(plan.dtype, [&](auto block) {
    using Block = decltype(block);
    if constexpr (Codes<Block>::kBy32) {
      visit_input(plan.x_dtype, [&](auto x) { launch<Block, decltype(x)>(device, plan); });
    }
  });
}

}  // namespace wick::cuda
