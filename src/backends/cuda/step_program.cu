#include "backends/cuda/step_program.h"

#include "backends/cuda/attention_split.cuh"
#include "backends/cuda/few_rows.cuh"
#include "backends/cuda/recording.h"

namespace wick::cuda {

struct Step {
  enum class Kind : int { kLinear, kAttention };
  Kind kind;
  int tiles;  // of kLinear
  WeightPlan linear;
  AttentionPlan attention;
};

namespace {

constexpr size_t kMostSteps = 1024;
constexpr int kStages = 7, kStaticBytes = 3072;  // of shared memory besides what a launch asks for
using Rows = FewRows<__nv_bfloat16, float, NoExperts, 1, kStages>;

struct Program {
  const Step* steps;
  int count;
  int* arrived;  // blocks at the barriers; zero before and after
  int attention_at;  // in shared memory
};

__device__ __forceinline__ int read_acquire(const int* at) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
  return value;
}

// What all blocks did before one's arrival can be seen by all behind its wait.
__device__ __forceinline__ void arrive(const Program& program) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(program.arrived, 1);
  }
}
__device__ __forceinline__ void wait_for_all(const Program& program, int barrier) {
  if (threadIdx.x == 0) {
    const int all = (barrier + 1) * static_cast<int>(gridDim.x);
    while (read_acquire(program.arrived) < all) {
    }
    __threadfence();
  }
  __syncthreads();
}

// Tasks are the splits of the tiles of the key heads. wait() is for all threads of the block.
template <typename T, int kDim, typename Wait>
__device__ void attend(const AttentionPlan& plan, char* memory, bool& is_last, const Wait& wait) {
  if (threadIdx.x >= kSplitWarps * 32) return wait();
  const int tiles = plan.row_count * plan.group / kRows + plan.rows.sequences, heads = plan.pool.kv_heads;
  bool waited = false;
  const auto wait_once = [&] {
    if (!waited) wait();
    waited = true;
  };
  for (int task = static_cast<int>(blockIdx.x); task < tiles * heads * plan.splits;
       task += static_cast<int>(gridDim.x)) {
    attend_split<T, kDim, true, FirstWarps>(plan, task / heads % tiles, task % heads, task / heads / tiles, memory,
                                            is_last, wait_once);
    FirstWarps::sync();  // before the next one's keys come
  }
  wait_once();
}

template <typename T, typename Kv, int kDim>
__global__ void __launch_bounds__(kThreads, 1) program_kernel(const __grid_constant__ Program program) {
  extern __shared__ __align__(128) char memory[];
  __shared__ InputRow<float, false>::Shared reduced;
  __shared__ __align__(16) char here[2][sizeof(Step)];  // the next product, and attention
  __shared__ bool is_last, multiplies[kMostSteps];
  const Step &product = *reinterpret_cast<const Step*>(here[0]), &other = *reinterpret_cast<const Step*>(here[1]);
  const auto thread = static_cast<int>(threadIdx.x);
  for (int i = thread; i < program.count; i += kThreads) {
    multiplies[i] = program.steps[i].kind == Step::Kind::kLinear;
  }
  __syncthreads();
  const auto fetch = [&](int i, char* target) {
    constexpr int kWords = sizeof(Step) / 8;
    static_assert(sizeof(Step) % 8 == 0 && kWords <= kThreads);
    const auto* from = reinterpret_cast<const uint64_t*>(program.steps + i);
    if (thread < kWords) reinterpret_cast<uint64_t*>(target)[thread] = from[thread];
#if defined(__CUDA_ARCH__)
    if (thread < kWords && thread % 16 == 0 && i + 2 < program.count) {  // soon needed
      asm volatile("prefetch.global.L2 [%0];" ::"l"(from + 2 * kWords + thread));
    }
#endif
    __syncthreads();
  };
  FewRows<T, float, NoExperts, 1, kStages> work;
  int started = -1;  // the last product whose weights are on their way
  const auto start_product = [&](int from) {
    while (from < program.count && !multiplies[from]) ++from;
    if (from >= program.count || from == started) return;
    fetch(from, here[0]);
    work.plan_tiles(product.linear, {}, product.tiles, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x), 0,
                    memory);
    fetch_norm(product.linear);
    work.start_copies(product.linear, {});
    started = from;
  };
  start_product(0);
  if (!multiplies[0]) fetch(0, here[1]);
#if WICK_TRACE
  long long sums[5][4] = {}, t[5];
#endif
  for (int i = 0; i < program.count; ++i) {
    const auto wait = [&] {
      if (i > 0) wait_for_all(program, i - 1);
    };
#if WICK_TRACE
    t[0] = clock64();
#endif
    if (multiplies[i]) {
      wait();
#if WICK_TRACE
      t[1] = clock64();
#endif
      work.multiply(product.linear, {}, memory, reduced);
    } else {
#if WICK_TRACE
      t[1] = clock64();
#endif
      attend<Kv, kDim>(other.attention, memory + program.attention_at, is_last, wait);
    }
#if WICK_TRACE
    t[2] = clock64();
#endif
    arrive(program);
#if WICK_TRACE
    t[3] = clock64();
#endif
    if (multiplies[i]) start_product(i + 1);
    if (i + 1 < program.count && !multiplies[i + 1]) fetch(i + 1, here[1]);
#if WICK_TRACE
    t[4] = clock64();
    for (int j = 0; j < 4; ++j) if (i + 1 < program.count) sums[i % 5][j] += t[j + 1] - t[j];
    if (i + 1 == program.count && thread == 0 && (blockIdx.x == 0 || blockIdx.x == 100)) {
      for (int k = 0; k < 5; ++k) printf("block %3d step %d: wait %7lld work %7lld arrive %7lld start %7lld\n", blockIdx.x, k, sums[k][0] / (program.count / 5), sums[k][1] / (program.count / 5), sums[k][2] / (program.count / 5), sums[k][3] / (program.count / 5));
    }
#endif
  }
  // The last one leaves a zero behind.
  if (thread == 0 && atomicAdd(program.arrived, 1) == (program.count + 1) * static_cast<int>(gridDim.x) - 1) {
    *program.arrived = 0;
  }
}

template <typename T, typename Kv, int kDim>
void launch(Device device, const Program& program, size_t shared) {
  const Runtime& use = facts(device);
  constexpr auto kKernel = program_kernel<T, Kv, kDim>;
  allow_shared<kKernel>(device, use.shared_bytes - kStaticBytes);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(use.multiprocessors));
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = shared;
  config.stream = use.stream;
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  config.attrs = &together;
  config.numAttrs = 1;
  check(cudaLaunchKernelEx(&config, kKernel, program), device, "steps");
}

template <typename T, typename Kv>
void launch(Device device, const Program& program, int dim, size_t shared) {
  dim == 64 ? launch<T, Kv, 64>(device, program, shared) : launch<T, Kv, 128>(device, program, shared);
}

constexpr size_t kBeforeInput = static_cast<size_t>(Rows::Memory::kInputAt);
size_t attention_bytes(int dim) {
  return static_cast<size_t>(dim == 0 ? 0 : dim == 64 ? SplitMemory<64>::kBytes : SplitMemory<128>::kBytes);
}

}  // namespace

StepProgram::StepProgram(Device device, std::vector<std::unique_ptr<Scratch>>& kept) : device_(device), kept_(kept) {}
StepProgram::~StepProgram() = default;

// Whether a step with these fits; starts those before it if it does not fit with them.
bool StepProgram::take(DType weights, DType pool, int dim, size_t input_bytes) {
  const Runtime& use = facts(device_);
  const auto room = [&](int attention, size_t input) {
    return kBeforeInput + input + attention_bytes(attention) + kStaticBytes <= static_cast<size_t>(use.shared_bytes);
  };
  if (use.major < 9 || !room(dim, input_bytes)) return false;
  const auto other = [](DType a, DType b) { return a != DType::kF32 && b != DType::kF32 && a != b; };
  const int both = dim ? dim : dim_;
  if (steps_.size() == kMostSteps || other(weights, weights_) || other(pool, pool_) || (dim && dim_ && dim != dim_) ||
      !room(both, std::max(input_bytes, input_bytes_))) {
    start();
  }
  if (weights != DType::kF32) weights_ = weights;
  if (pool != DType::kF32) pool_ = pool;
  if (dim) dim_ = dim;
  input_bytes_ = std::max(input_bytes, input_bytes_);
  return true;
}

bool StepProgram::add(const WeightPlan& plan) {
  if (plan.m != 1 || plan.x_dtype != DType::kF32 || !plan.steady) return false;
  const size_t input = few_rows_bytes<1, kStages>(1, plan.k) - kBeforeInput;
  if (!take(plan.dtype, DType::kF32, 0, (input + 127) / 128 * 128)) return false;
  Step step{Step::Kind::kLinear, static_cast<int>(few_rows_tiles(plan)), plan, {}};
  steps_.push_back(step);
  return true;
}

bool StepProgram::add(const AttentionPlan& plan, DType pool) {
  if (plan.row_count != 1 || !plan.key || !take(DType::kF32, pool, plan.pool.dim, 0)) return false;
  Step step{Step::Kind::kAttention, 0, {}, plan};
  steps_.push_back(step);
  return true;
}

void StepProgram::start() {
  if (steps_.empty()) return;
  const Runtime& use = facts(device_);
  const size_t bytes = steps_.size() * sizeof(Step);
  kept_.push_back(std::make_unique<Scratch>(device_, bytes, Scratch::Apart()));
  // Not part of the graph: it is there before the graph is first started.
  copy_outside_graph(device_, kept_.back()->as<void>(), steps_.data(), bytes);
  const int attention_at = static_cast<int>(kBeforeInput + input_bytes_);
  const Program program{kept_.back()->as<const Step>(), static_cast<int>(steps_.size()),
                        use.barrier, attention_at};
  const size_t shared = static_cast<size_t>(attention_at) + attention_bytes(dim_);
  steps_.clear();
  const bool half = weights_ == DType::kF16, half_pool = pool_ != DType::kBF16;
  if (half) {
    half_pool ? launch<__half, __half>(device_, program, dim_, shared)
              : launch<__half, __nv_bfloat16>(device_, program, dim_, shared);
  } else {
    half_pool ? launch<__nv_bfloat16, __half>(device_, program, dim_, shared)
              : launch<__nv_bfloat16, __nv_bfloat16>(device_, program, dim_, shared);
  }
  weights_ = pool_ = DType::kF32;
  dim_ = 0;
  input_bytes_ = 0;
}

}  // namespace wick::cuda
