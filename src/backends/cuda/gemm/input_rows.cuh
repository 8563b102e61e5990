#pragma once

#include "backends/cuda/gemm/matmul_plan.h"
#include "backends/cuda/runtime/launch.cuh"

// What becomes of x before it meets weights, computed by the first kThreads threads of a block, the same in every
// kernel.
namespace wick::cuda {

template <typename X>
__device__ __forceinline__ float4 load_four(const X* x) {
  if constexpr (std::is_same_v<X, float>) {
    return *reinterpret_cast<const float4*>(x);
  } else {
    const auto four = *reinterpret_cast<const Four<X>*>(x);
    return {widen(four.at[0]), widen(four.at[1]), widen(four.at[2]), widen(four.at[3])};
  }
}

__device__ __forceinline__ float gated(float gate, float up) { return gate / (1.0f + expf(-gate)) * up; }
// The same of Activation::kClampedSwiglu; what is no number stays so.
__device__ __forceinline__ float clamped_gated(float gate, float up) {
  constexpr float kLimit = 7, kSlope = 1.702f;
  const float low = gate > kLimit ? kLimit : gate, near = up > kLimit ? kLimit : up < -kLimit ? -kLimit : up;
  return low / (1.0f + expf(-kSlope * low)) * (near + 1);
}

// What the norm needs may be on its way before anything else is known.
__device__ __forceinline__ void fetch_norm(const WeightPlan& plan) {
#if defined(__CUDA_ARCH__)
  if (!plan.norm_weight) return;
#pragma unroll 1
  for (int64_t i = threadIdx.x * 32; i < plan.k; i += blockDim.x * 32) {  // a line of 128 bytes each
    asm volatile("prefetch.global.L2 [%0];" ::"l"(plan.norm_weight + i));
  }
#endif
}

// One row of x [m, k] after the plan's norm or activation; k is a multiple of 4. Warps take turns with stretches of 256
// columns, of which a lane has four at 4 lane and four at 128 + 4 lane.
// kMost: its largest magnitude is wanted. kUp: the plan may have an activation; it takes many instructions, and kernels
// that run for a few microseconds spend much of their time on instruction-cache misses. kWhole: k is a multiple of a
// stretch.
template <typename X, bool kMost, bool kUp = true, bool kWhole = false>
class InputRow {
  static constexpr int kWarps = kThreads / 32, kStretch = 256;
  static constexpr int kHeld = 4;   // fours of columns that a thread has at hand
  static constexpr int kAhead = 8;  // and that each_stretches fetches at once

 public:
  // What a norm needs besides x, which may be read before x is there.
  struct Norm {
    float4 weight[kHeld];
    float share;  // of one element in the mean

    __device__ __forceinline__ explicit Norm(const WeightPlan& plan) : share(1.0f / static_cast<float>(plan.k)) {
      asm volatile("" : "+f"(share));  // now, and not when x is there
      if (!plan.norm_weight) return;
#pragma unroll
      for (int j = 0; j < kHeld; ++j) {
        if (is_inside(j, static_cast<int>(plan.k))) weight[j] = load_four(plan.norm_weight + column(j));
      }
    }
  };
  // Sums and largest values of the warps, for rows by turns.
  struct Shared {
    float2 at[2][kWarps];
  };

  // All threads of the block.
  __device__ __forceinline__ InputRow(const WeightPlan& plan, int64_t row, Shared& shared)
      : InputRow(plan, row, shared, Norm(plan)) {}
  __device__ __forceinline__ InputRow(const WeightPlan& plan, int64_t row, Shared& shared, const Norm& norm)
      : InputRow(plan, row, shared, norm, [] {}) {}
  // between(): what else is to be started while x is on its way.
  template <typename Between>
  __device__ __forceinline__ InputRow(const WeightPlan& plan, int64_t row, Shared& shared, const Norm& norm,
                                      const Between& between)
      : x_(static_cast<const X*>(plan.x) + row * plan.k),
        up_(plan.up ? plan.up + row * plan.k : nullptr),
        weight_(plan.norm_weight),
        k_(static_cast<int>(plan.k)) {
    float square = 0, most = 0;
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      if (is_inside(j, k_)) held_[j] = load_four(x_ + column(j));
      held_weight_[j] = norm.weight[j];
    }
    between();
    if (!kMost && !weight_) return;
    walk([&](int, float4 x, float4 weight) {
      square = __fmaf_rn(x.x, x.x, square);
      square = __fmaf_rn(x.y, x.y, square);
      square = __fmaf_rn(x.z, x.z, square);
      square = __fmaf_rn(x.w, x.w, square);
      if constexpr (kMost) {
        most = fmaxf(fmaxf(fabsf(x.x * weight.x), fabsf(x.y * weight.y)), most);
        most = fmaxf(fmaxf(fabsf(x.z * weight.z), fabsf(x.w * weight.w)), most);
      }
    });
    square = warp_sum(square);
    if constexpr (kMost) most = warp_max(most);
    float2(&both)[kWarps] = shared.at[row % 2];
    if (threadIdx.x % 32 == 0) both[threadIdx.x / 32] = {square, most};
    asm volatile("bar.sync 15, %0;" ::"n"(kThreads) : "memory");  // others of the block need not come
    square = most = 0;
#pragma unroll
    for (const float2& of : both) {
      square += of.x;
      if constexpr (kMost) most = fmaxf(most, of.y);
    }
    if (weight_) inverse_ = rsqrtf(__fmaf_rn(square, norm.share, plan.eps));
    most_ = weight_ ? most * inverse_ : most;
  }

  // The largest magnitude of what body gets, up to rounding.
  __device__ float most() const { return most_; }
  // What the norm multiplies x with, besides its weights.
  __device__ float inverse() const { return inverse_; }

  // body(i, values i to i + 3) for those of this thread.
  template <typename Body>
  __device__ __forceinline__ void each(const Body& body) const {
    walk([&](int i, float4 x, float4 weight) { body(i, weight_ ? normed(x, weight) : x); });
  }

  // body(two stretches of this warp, of each its values from 4 lane on and from 128 + 4 lane on) for those up to
  // `count`, of which the second may lie behind it; zeros behind k. Work on two at once takes little longer than on
  // one.
  template <typename Body>
  __device__ __forceinline__ void each_stretches(int count, const Body& body) const {
    static_assert(kHeld == 4 && kAhead == 8);
    float4 now[kHeld], ahead[kAhead];
    int stretch = static_cast<int>(threadIdx.x) / 32;
    if (stretch >= count) return;
    if (stretch + kHeld / 2 * kWarps < count) {
#pragma unroll
      for (int j = 0; j < kAhead; ++j) ahead[j] = loaded(kHeld + j);
    }
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      now[j] = activated(column(j), held_[j]);
      if (weight_) now[j] = normed(now[j], held_weight_[j]);
      if (!kWhole && !is_inside(j, k_)) now[j] = {0, 0, 0, 0};
    }
    // One copy of body, as it is mostly run once: an instruction-cache miss takes longer than running it.
#pragma unroll 1
    for (int j = kHeld;; j += kHeld) {
      const int stretches[2] = {stretch, stretch + kWarps};
      const float4 x[2][2] = {{now[0], now[1]}, {now[2], now[3]}};
      body(stretches, x);
      stretch += 2 * kWarps;
      if (stretch >= count) break;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) {
        now[i] = activated(column(j + i), ahead[i]);
        ahead[i] = ahead[i + kHeld];
      }
      if (weight_) {
#pragma unroll
        for (int i = 0; i < kHeld; ++i) now[i] = normed(now[i], weight(column(j + i)));  // 1 behind k
      }
      if (stretch + kAhead / 2 * kWarps >= count) continue;
#pragma unroll
      for (int i = 0; i < kHeld; ++i) ahead[i + kHeld] = loaded(j + kAhead + i);
    }
  }

 private:
  // The first of four columns.
  __device__ static __forceinline__ int column(int j) {
    return (static_cast<int>(threadIdx.x) / 32 + j / 2 * kWarps) * kStretch + j % 2 * (kStretch / 2) +
           static_cast<int>(threadIdx.x) % 32 * 4;
  }
  // Whether the four are columns of x; kWhole: the same for all lanes.
  __device__ static __forceinline__ bool is_inside(int j, int k) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return kWhole ? (warp + j / 2 * kWarps) * kStretch < k : column(j) < k;
  }
  __device__ __forceinline__ float4 loaded(int j) const {
    return is_inside(j, k_) ? load_four(x_ + column(j)) : float4{0, 0, 0, 0};
  }
  __device__ __forceinline__ float4 weight(int i) const {
    return weight_ && i < k_ ? *reinterpret_cast<const float4*>(weight_ + i) : float4{1, 1, 1, 1};
  }
  __device__ __forceinline__ float4 normed(float4 x, float4 weight) const {
    return {x.x * inverse_ * weight.x, x.y * inverse_ * weight.y, x.z * inverse_ * weight.z, x.w * inverse_ * weight.w};
  }
  // body(i, x or its activation, the norm's weights or ones)
  template <typename Body>
  __device__ __forceinline__ void walk(const Body& body) const {
    const float4 ones{1, 1, 1, 1};
#pragma unroll
    for (int j = 0; j < kHeld; ++j) {
      const int i = column(j);
      if (is_inside(j, k_)) body(i, activated(i, held_[j]), weight_ ? held_weight_[j] : ones);
    }
#pragma unroll 1
    for (int i = column(kHeld), step = kStretch / 2; i < k_; i += step, step = kWarps * kStretch - step) {
      body(i, activated(i, load_four(x_ + i)), weight_ ? *reinterpret_cast<const float4*>(weight_ + i) : ones);
    }
  }
  __device__ __forceinline__ float4 activated(int i, float4 x) const {
    if (!kUp || !up_ || i >= k_) return x;
    const float4 up = *reinterpret_cast<const float4*>(up_ + i);
    return {gated(x.x, up.x), gated(x.y, up.y), gated(x.z, up.z), gated(x.w, up.w)};
  }

  const X* x_;
  const float *up_, *weight_;
  int k_;
  float4 held_[kHeld], held_weight_[kHeld];
  float inverse_ = 1, most_ = 0;
};

}  // namespace wick::cuda
