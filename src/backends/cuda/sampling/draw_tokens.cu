#include "backends/cuda/runtime/block_cluster.cuh"
#include "backends/cuda/runtime/dependent_launch.cuh"
#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"
#include "backends/cuda/sampling/likeliest_tokens.h"
#include "backends/cuda/sampling/token_keys.cuh"

// Compiled without fused multiply-adds, so that weights have the bits they have on the host.
namespace wick::cuda {
namespace {

constexpr int kBlock = 1024, kWarps = kBlock / 32;
constexpr int kLoads = 8, kGroup = 32 * kLoads;  // tokens that a warp takes at a time
constexpr int kParts = 8;                        // that a search cuts a range into
constexpr int kRoom = 2048;                      // keys that are put in order, and groups of a block
constexpr int kMostDraws = 64;                   // of a launch
static_assert(kRoom == 2 * kBlock && kWarps == 32 && kRoom * kGroup >= kMostExactWeights);

struct DrawPlan {
  const float* logits;    // [rows, n]
  const uint32_t* masks;  // see TokenDraws
  int32_t* out;           // [rows]
  int n;
  TokenDraw draws[kMostDraws];
};

struct DrawMemory {
  uint64_t warps[kWarps][2 * kParts];
  uint64_t mine[2][2 * kParts];  // of this block, for the others; the next exchange uses the other half
  uint64_t combined[2 * kParts];
  uint64_t list[kRoom];  // keys in no order, or the sums of groups
  uint64_t listed, cut, group, before;
};

__device__ __forceinline__ float logit_of(uint32_t rank) {  // see descending()
  return __uint_as_float(rank >> 31 ? rank : 0x7fffffffu - rank);
}

// In units of 2^-kWeightBits.
__device__ __forceinline__ uint64_t units_of(float below_most) {
  return static_cast<uint64_t>(weight_below(below_most) * static_cast<float>(uint64_t{1} << kWeightBits));
}

// Of numbers below 2^54, in every lane.
__device__ __forceinline__ uint64_t sum_of_warp(uint64_t value) {
  constexpr uint32_t kLow = (1u << 27) - 1;  // 32 of them fit into 32 bits
  const auto low = static_cast<uint32_t>(value) & kLow, high = static_cast<uint32_t>(value >> 27);
  return __reduce_add_sync(0xffffffffu, low) + (uint64_t{__reduce_add_sync(0xffffffffu, high)} << 27);
}
// The sum of this lane's value and those of all before it.
__device__ __forceinline__ uint64_t scan_of_warp(uint64_t value) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const uint64_t before = __shfl_up_sync(0xffffffffu, value, step);
    if (threadIdx.x % 32 >= step) value += before;
  }
  return value;
}

// A row of logits that a team of blocks draws from. What is kept of it are the keys up to a cut: each of top-k, top-p
// and min-p moves it forward. Sums are of integers, so that their order does not matter.
template <int kTeam>
class Row {
 public:
  using Team = BlockCluster<kTeam>;
  static constexpr int kNotHere = -2;

  // mask: null if all tokens may come.
  __device__ Row(const float* logits, const uint32_t* mask, int n, DrawMemory& memory)
      : logits_(logits), mask_(mask), memory_(memory) {
    const int groups = (n + kGroup - 1) / kGroup, share = (groups + kTeam - 1) / kTeam * kGroup;
    begin_ = min(n, Team::rank() * share);
    end_ = min(n, begin_ + share);
    n_ = n;
  }

  // The token, or -1, for thread 0; kNotHere: another block has it.
  __device__ int draw(const TokenDraw& wanted) {
    const uint64_t first = find_first();
    if (!is_usable(first) || wanted.needs_row) return -1;
    if (wanted.temperature <= 0) return static_cast<int>(first & 0xffffffffu);
    most_ = logit_of(static_cast<uint32_t>(first >> 32));
    uint64_t cut = kLastUsable;
    if (wanted.top_k > 0) {
      const double k = wanted.top_k;
      cut = first_that_reaches(
          cut, [](float) -> uint64_t { return 1; }, [k](double total) { return min(k, total); });
    }
    if (wanted.top_p < 1) {
      const double p = static_cast<double>(wanted.top_p);
      cut = first_that_reaches(
          min(cut, key_of(most_ - kWeightless, -1)), [this](float logit) { return units_of(most_ - logit); },
          [p](double total) { return p * total; });
    }
    cut = min(cut, key_of(most_ + wanted.log_min_p, -1));
    return draw_up_to(cut, wanted.temperature, wanted.uniform);
  }

 private:
  static constexpr float kWeightless = 25;  // below the highest: a weight of 0

  // -inf beyond the end and where the mask forbids it, unless it is unusable.
  __device__ __forceinline__ float logit_at(int token) const {
    if (token >= end_) return -INFINITY;
    const float logit = logits_[token];
    return mask_ && logit < INFINITY && !(mask_[token / 32] >> token % 32 & 1) ? -INFINITY : logit;
  }

  // body(group, its first token, logits of kLoads x 32 tokens)
  template <typename Body>
  __device__ __forceinline__ void for_each_group(const Body& body) const {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int group = warp; begin_ + group * kGroup < end_; group += kWarps) {
      const int token = begin_ + group * kGroup + lane;
      float logits[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) logits[i] = logit_at(token + i * 32);
      body(group, token, logits);
    }
  }

  // Combines values of all threads of the team; memory_.combined gets the results.
  template <int kCount, typename OfWarp, typename Both>
  __device__ void combine(const uint64_t (&values)[kCount], const OfWarp& of_warp, const Both& both) {
    const int warp = threadIdx.x / 32, at = threadIdx.x;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const uint64_t value = of_warp(values[i]);
      if (threadIdx.x % 32 == 0) memory_.warps[warp][i] = value;
    }
    __syncthreads();
    uint64_t* mine = memory_.mine[phase_];
    phase_ ^= 1;
    if (at < kCount) {
      uint64_t value = memory_.warps[0][at];
      for (int i = 1; i < kWarps; ++i) value = both(value, memory_.warps[i][at]);
      mine[at] = value;
    }
    Team::sync();
    if (at < kCount) {
      uint64_t value = Team::read(mine + at, 0);
      for (int block = 1; block < kTeam; ++block) value = both(value, Team::read(mine + at, block));
      memory_.combined[at] = value;
    }
    __syncthreads();
  }

  // The key of the highest logit.
  __device__ uint64_t find_first() {
    uint64_t least[1] = {~uint64_t{0}};
    for_each_group([&](int, int token, const float(&logits)[kLoads]) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        least[0] = min(least[0], checked_key(logits[i], token + i * 32));
      }
    });
    combine(
        least, [](uint64_t x) { return least_of_warp(x); }, [](uint64_t a, uint64_t b) { return min(a, b); });
    return memory_.combined[0];
  }

  // The first key at which the weights of the keys up to it add up to target(the sum of all up to `hi`).
  template <typename WeightOf, typename Target>
  __device__ uint64_t first_that_reaches(uint64_t hi, const WeightOf& weight_of, const Target& target) {
    uint64_t lo = key_of(most_, 0), before = 0, members = 0;
    double wanted = 0;
    bool is_stuck = false;
    for (int pass = 0; pass == 0 || members > kRoom; ++pass) {
      uint64_t ends[kParts], sums[2 * kParts] = {};  // weights up to each end, then counts
      uint32_t counts[kParts] = {};
      cut_range(lo, hi, pass == 0, is_stuck, ends);
      for_each_group([&](int, int token, const float(&logits)[kLoads]) {
#pragma unroll
        for (int i = 0; i < kLoads; ++i) {
          const uint64_t key = key_of(logits[i], token + i * 32);
          if (key < lo || key > hi) continue;
          const uint64_t weight = weight_of(logits[i]);
#pragma unroll
          for (int part = 0; part < kParts; ++part) {
            sums[part] += key <= ends[part] ? weight : 0;
            counts[part] += key <= ends[part] ? 1 : 0;
          }
        }
      });
#pragma unroll
      for (int part = 0; part < kParts; ++part) sums[kParts + part] = counts[part];
      combine(
          sums, [](uint64_t x) { return sum_of_warp(x); }, [](uint64_t a, uint64_t b) { return a + b; });
      const uint64_t* found = memory_.combined;
      if (pass == 0) wanted = target(static_cast<double>(found[kParts - 1]));
      int part = 0;
      while (part + 1 < kParts && static_cast<double>(before + found[part]) < wanted) ++part;
      members = found[kParts + part] - (part ? found[kParts + part - 1] : 0);
      uint64_t end = 0;
#pragma unroll
      for (int i = 0; i < kParts; ++i) {  // without indexing registers
        if (i + 1 == part) lo = ends[i] + 1;
        if (i == part) end = ends[i];
      }
      is_stuck = end == hi && part == 0;
      if (part) before += found[part - 1];
      hi = end;
      __syncthreads();  // all have read what was found
    }
    return first_of_list(lo, hi, before, wanted, weight_of);
  }

  // Cuts lo..hi into parts: first by distances from the highest logit that double, then into equal ranges of logits, or
  // of keys where those do not help.
  __device__ __forceinline__ void cut_range(uint64_t lo, uint64_t& hi, bool is_first, bool is_stuck,
                                            uint64_t (&ends)[kParts]) const {
    const auto rank = static_cast<uint32_t>(lo >> 32);
    if (rank == static_cast<uint32_t>(hi >> 32)) hi = min(hi, order_key(rank, static_cast<uint32_t>(n_ - 1)));
    const float from = logit_of(rank), range = from - logit_of(static_cast<uint32_t>(hi >> 32));
    const uint64_t step = (hi - lo) / kParts + 1;
    const bool by_keys = is_stuck || range > 200;  // the keys of large numbers lie denser
#pragma unroll
    for (int part = 0; part < kParts; ++part) {
      const float below =
          is_first ? 0.75f * static_cast<float>(1 << part) : range * (static_cast<float>(part + 1) / kParts);
      const uint64_t by_logit = key_of(from - below, -1);
      const uint64_t by_key = lo + step * static_cast<uint64_t>(part) + (step - 1);
      ends[part] = part + 1 == kParts ? hi : min(max(by_keys && !is_first ? by_key : by_logit, lo), hi);
    }
  }

  // Puts the keys from lo to hi, no more than kRoom, in order and finds the first that reaches what is wanted.
  template <typename WeightOf>
  __device__ uint64_t first_of_list(uint64_t lo, uint64_t hi, uint64_t before, double wanted,
                                    const WeightOf& weight_of) {
    if (threadIdx.x == 0) memory_.listed = 0;
    __syncthreads();
    for_each_group([&](int, int token, const float(&logits)[kLoads]) {
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const uint64_t key = key_of(logits[i], token + i * 32);
        if (key < lo || key > hi) continue;
        memory_.list[atomicAdd(reinterpret_cast<unsigned long long*>(&memory_.listed), 1ull)] = key;
      }
    });
    Team::sync();
    if (Team::rank() == 0) {
      uint64_t count = memory_.listed;
      for (int block = 1; block < kTeam; ++block) {
        const uint64_t more = Team::read(&memory_.listed, block);
        for (uint64_t i = threadIdx.x; i < more; i += kBlock) {
          memory_.list[count + i] = Team::read(memory_.list + i, block);
        }
        count += more;
      }
      for (uint64_t i = count + threadIdx.x; i < kRoom; i += kBlock) memory_.list[i] = ~uint64_t{0};
      if (threadIdx.x == 0) memory_.cut = hi;
      sort_list(static_cast<int>(count));
      const int at = 2 * static_cast<int>(threadIdx.x);
      const auto weight_at = [&](int i) {
        return i < static_cast<int>(count) ? weight_of(logit_of(static_cast<uint32_t>(memory_.list[i] >> 32))) : 0;
      };
      const uint64_t weights[2] = {weight_at(at), weight_at(at + 1)};
      const uint64_t start = before + scan_pairs(weights);
      const double sums[3] = {static_cast<double>(start), static_cast<double>(start + weights[0]),
                              static_cast<double>(start + weights[0] + weights[1])};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const bool is_first = at + i == 0 || sums[i] < wanted;
        if (is_first && sums[i + 1] >= wanted && at + i < static_cast<int>(count)) memory_.cut = memory_.list[at + i];
      }
    }
    Team::sync();
    return Team::read(&memory_.cut, 0);
  }

  // Bitonic, by this block.
  __device__ void sort_list(int count) {
    int size = 2;
    while (size < count) size *= 2;
    for (int run = 2; run <= size; run *= 2) {
      for (int step = run / 2; step; step /= 2) {
        __syncthreads();
        const int pair = threadIdx.x;
        if (pair >= size / 2) continue;
        const int low = pair / step * step * 2 + pair % step, high = low + step;
        const uint64_t a = memory_.list[low], b = memory_.list[high];
        if ((a > b) == ((low & run) == 0)) {
          memory_.list[low] = b;
          memory_.list[high] = a;
        }
      }
    }
    __syncthreads();
  }

  // Two values of each thread of this block: the sum of all that come before. memory_.combined[0] gets that of all.
  __device__ uint64_t scan_pairs(const uint64_t (&values)[2]) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const uint64_t own = values[0] + values[1], up_to = scan_of_warp(own);
    if (lane == 31) memory_.warps[warp][0] = up_to;
    __syncthreads();
    const uint64_t warps = scan_of_warp(memory_.warps[lane][0]);  // there are as many warps as lanes
    if (threadIdx.x == kBlock - 1) memory_.combined[0] = warps;
    const uint64_t before = __shfl_sync(0xffffffffu, warps, (warp + 31) % 32);
    __syncthreads();
    return (warp ? before : 0) + up_to - own;
  }

  // Of the keys up to the cut, the first token whose weight and all before it are more than this share of the whole.
  __device__ int draw_up_to(uint64_t cut, float temperature, double uniform) {
    const auto weight_of = [&](float logit, int token) -> uint64_t {
      return key_of(logit, token) <= cut ? units_of((most_ - logit) / temperature) : 0;
    };
    for (int i = threadIdx.x; i < kRoom; i += kBlock) memory_.list[i] = 0;
    __syncthreads();
    for_each_group([&](int group, int token, const float(&logits)[kLoads]) {
      uint64_t sum = 0;
#pragma unroll
      for (int i = 0; i < kLoads; ++i) sum += weight_of(logits[i], token + i * 32);
      sum = sum_of_warp(sum);
      if (threadIdx.x % 32 == 0) memory_.list[group] = sum;
    });
    __syncthreads();
    const int at = 2 * static_cast<int>(threadIdx.x);
    const uint64_t groups[2] = {memory_.list[at], memory_.list[at + 1]};
    uint64_t start = scan_pairs(groups);
    if (threadIdx.x == 0) memory_.mine[phase_][0] = memory_.combined[0];
    Team::sync();
    uint64_t total = 0;
    for (int block = 0; block < kTeam; ++block) {
      const uint64_t sum = Team::read(memory_.mine[phase_], block);
      start += block < Team::rank() ? sum : 0;
      total += sum;
    }
    // Rounding may give the whole: then it is the last token that has any weight.
    const double target = min(uniform * static_cast<double>(total), static_cast<double>(total - 1));
    if (threadIdx.x == 0) memory_.group = ~uint64_t{0};
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const uint64_t next = start + groups[i];
      if (static_cast<double>(start) <= target && target < static_cast<double>(next)) {
        memory_.group = static_cast<uint64_t>(at + i);
        memory_.before = start;
      }
      start = next;
    }
    __syncthreads();
    if (memory_.group == ~uint64_t{0} || threadIdx.x >= 32) return kNotHere;
    uint64_t before = memory_.before;
    const int first = begin_ + static_cast<int>(memory_.group) * kGroup;
    for (int token = first + static_cast<int>(threadIdx.x);; token += 32) {
      const uint64_t up_to = before + scan_of_warp(weight_of(logit_at(token), token));
      const unsigned reached = __ballot_sync(0xffffffffu, static_cast<double>(up_to) > target);
      if (reached) return token - static_cast<int>(threadIdx.x) + __ffs(static_cast<int>(reached)) - 1;
      before = __shfl_sync(0xffffffffu, up_to, 31);
    }
  }

  const float* logits_;
  const uint32_t* mask_;
  DrawMemory& memory_;
  int n_ = 0, begin_ = 0, end_ = 0;  // of the row; of this block's share
  int phase_ = 0;
  float most_ = 0;
};

// A team of blocks for each row.
template <int kTeam>
__device__ __forceinline__ void draw_token(const DrawPlan& plan, int row, DrawMemory& memory) {
  const TokenDraw& wanted = plan.draws[row];
  const uint32_t* mask = wanted.mask < 0 ? nullptr : plan.masks + wanted.mask * TokenDraws::mask_words(plan.n);
  const int token = Row<kTeam>(plan.logits + int64_t{row} * plan.n, mask, plan.n, memory).draw(wanted);
  if (threadIdx.x == 0 && token != Row<kTeam>::kNotHere) plan.out[row] = token;
  BlockCluster<kTeam>::sync();  // nobody's memory goes while others read it
}

template <int kTeam>
__global__ void __launch_bounds__(kBlock, 1) draw_kernel(const __grid_constant__ DrawPlan plan) {
  __shared__ DrawMemory memory;
  launch_dependents();
  wait_for_prerequisites();
  draw_token<kTeam>(plan, static_cast<int>(blockIdx.x) / kTeam, memory);
}

__global__ void __launch_bounds__(kThreads)
    edit_kernel(float* logits, int64_t n, const LogitEdit* edits, int64_t count) {
  launch_dependents();
  wait_for_prerequisites();
  const int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i >= count) return;
  float& logit = logits[edits[i].row * n + edits[i].token];
  logit = edited(logit, edits[i]);
}

// A copy on the device for the time of some kernels.
template <typename T>
class DeviceCopy {
 public:
  DeviceCopy(Device device, const std::vector<T>& values) : copy_(device, values.size() * sizeof(T)) {
    device_memory(device).copy_from_host(device, copy_.template as<void>(), values.data(), values.size() * sizeof(T));
  }
  const T* data() const { return copy_.template as<const T>(); }

 private:
  Scratch copy_;
};

}  // namespace

void draw_tokens(const Tensor& logits, const TokenDraws& draws, const Tensor& out) {
  constexpr int kTeam = 8;
  const Device device = logits.device();
  const int64_t rows = logits.dim(0), n = logits.dim(1);
  for (const std::vector<LogitEdit>& round : draws.edits) {
    if (round.empty()) continue;
    const DeviceCopy edits(device, round);
    const auto count = static_cast<int64_t>(round.size());
    launch_dependent(device, "draw_tokens", edit_kernel, blocks_for(count), kThreads, 0, data_of<float>(logits), n,
                     edits.data(), count);
  }
  const bool is_plain = std::ranges::all_of(
      draws.rows, [](const TokenDraw& draw) { return draw.temperature <= 0 && draw.mask < 0 && !draw.needs_row; });
  if (is_plain) return likeliest_tokens(logits, out);
  const DeviceCopy masks(device, draws.masks);
  for (int64_t first = 0; first < rows; first += kMostDraws) {
    DrawPlan plan{
        data_of<const float>(logits) + first * n, masks.data(), data_of<int32_t>(out) + first, static_cast<int>(n), {}};
    const auto count = std::min<int64_t>(rows - first, kMostDraws);
    std::copy_n(draws.rows.begin() + first, count, plan.draws);
    if (runtime(device).hopper) {
      launch_clusters(device, "draw_tokens", draw_kernel<kTeam>, static_cast<unsigned>(count * kTeam), kTeam, kBlock, 0,
                      plan);
    } else {
      launch_dependent(device, "draw_tokens", draw_kernel<1>, static_cast<unsigned>(count), kBlock, 0, plan);
    }
  }
}

}  // namespace wick::cuda
