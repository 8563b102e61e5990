#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

namespace wick::cuda {
namespace {

constexpr int kChunk = 128;  // keys at a time, one per thread

struct AttentionPlan {
  int64_t q[4], k[4], v[4], mask[4], out[4];  // strides
  int64_t heads, group, queries, keys, dim, value_dim;
  float scale;
  bool causal;
};

// A block per query: scores of 128 keys, one per thread, then their values, one component per thread. The largest score
// so far scales the sums.
template <typename T>
__global__ void __launch_bounds__(kChunk)
    attention_kernel(const T* query, const T* key, const T* value, const float* mask, AttentionPlan plan, T* out) {
  using W = Sum<T>;
  extern __shared__ char memory[];
  __shared__ W reduced[32];
  W* q = reinterpret_cast<W*>(memory);  // [dim]
  W* sums = q + plan.dim;               // [value_dim]
  W* weights = sums + plan.value_dim;   // [kChunk]
  const int64_t row = blockIdx.x, token = row % plan.queries, head = row / plan.queries % plan.heads,
                batch = row / (plan.queries * plan.heads), kv_head = head / plan.group;
  query += batch * plan.q[0] + head * plan.q[1] + token * plan.q[2];
  key += batch * plan.k[0] + kv_head * plan.k[1];
  value += batch * plan.v[0] + kv_head * plan.v[1];
  if (mask) mask += batch * plan.mask[0] + head * plan.mask[1] + token * plan.mask[2];
  out += batch * plan.out[0] + head * plan.out[1] + token * plan.out[2];
  for (int64_t d = threadIdx.x; d < plan.dim; d += kChunk) q[d] = widen(query[d * plan.q[3]]);
  for (int64_t d = threadIdx.x; d < plan.value_dim; d += kChunk) sums[d] = 0;
  __syncthreads();
  const int64_t lag = plan.keys - plan.queries;
  const int64_t visible = plan.causal ? max(int64_t{0}, min(plan.keys, token + lag + 1)) : plan.keys;
  const W lowest = -INFINITY;
  W most = lowest, total = 0;
  for (int64_t first = 0; first < visible; first += kChunk) {
    const int64_t j = first + threadIdx.x;
    W score = lowest;
    if (j < visible) {
      W dot = 0;
      for (int64_t d = 0; d < plan.dim; ++d) dot += q[d] * static_cast<W>(widen(key[j * plan.k[2] + d * plan.k[3]]));
      score = dot * static_cast<W>(plan.scale) + (mask ? static_cast<W>(mask[j * plan.mask[3]]) : W(0));
    }
    // NaN must not be lost in the maximum.
    const W chunk_most = block_combine(score, reduced, lowest, [](W a, W b) { return a != a || a > b ? a : b; });
    const W next = most != most || most > chunk_most ? most : chunk_most;
    const bool sees_nothing = next == lowest;
    const W weight = sees_nothing || j >= visible ? W(0) : exp(score - next);
    const W shrink = sees_nothing ? W(1) : exp(most - next);
    most = next;
    __syncthreads();
    weights[threadIdx.x] = weight;
    total = total * shrink + block_combine(weight, reduced, W(0), [](W a, W b) { return a + b; });
    __syncthreads();
    const int64_t count = min(int64_t{kChunk}, visible - first);
    for (int64_t d = threadIdx.x; d < plan.value_dim; d += kChunk) {
      W sum = sums[d] * shrink;
      for (int64_t i = 0; i < count && !sees_nothing; ++i) {
        // A key that is hidden by the mask gives nothing, whatever its value is.
        if (weights[i] != 0) sum += weights[i] * static_cast<W>(widen(value[(first + i) * plan.v[2] + d * plan.v[3]]));
      }
      sums[d] = sum;
    }
    __syncthreads();
  }
  for (int64_t d = threadIdx.x; d < plan.value_dim; d += kChunk) {
    out[d * plan.out[3]] = to<T>(most == lowest ? W(0) : sums[d] / total);
  }
}

void set_strides(int64_t (&to)[4], const Tensor& x) {
  for (int d = 0; d < 4; ++d) to[d] = x.defined() ? x.strides()[static_cast<size_t>(d)] : 0;
}

}  // namespace

void attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask, const AttentionParams& params,
               const Tensor& out) {
  if (out.numel() == 0) return;
  const Runtime& use = runtime(q.device());
  AttentionPlan plan{};
  set_strides(plan.q, q);
  set_strides(plan.k, k);
  set_strides(plan.v, v);
  set_strides(plan.mask, mask);
  set_strides(plan.out, out);
  plan.heads = q.dim(1);
  plan.group = q.dim(1) / k.dim(1);
  plan.queries = q.dim(2);
  plan.keys = k.dim(2);
  plan.dim = q.dim(3);
  plan.value_dim = v.dim(3);
  plan.scale = params.scale;
  plan.causal = params.causal;
  const int64_t rows = q.dim(0) * q.dim(1) * q.dim(2);
  visit_float(q.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const size_t shared = static_cast<size_t>(plan.dim + plan.value_dim + kChunk) * sizeof(Sum<T>);
    if (shared > 48 * 1024) allow_shared<attention_kernel<T>>(q.device(), static_cast<int>(shared));
    attention_kernel<T><<<blocks_for(rows, 1), kChunk, shared, use.stream>>>(
        data_of<const T>(q), data_of<const T>(k), data_of<const T>(v), data_or_null<const float>(mask), plan,
        data_of<T>(out));
  });
  check_launch(q.device(), "attention");
}

}  // namespace wick::cuda
