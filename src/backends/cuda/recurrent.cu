#include "backends/cuda/launch.cuh"
#include "ops/recurrent_kernels.h"

// One thread takes a channel through all tokens: neighbours read neighbouring elements, and no channel waits for
// another.
namespace wick {
namespace cuda {
namespace {

constexpr int kChannels = 64;  // in a block: few, so that many multiprocessors have work

// Rows of a matrix, whose elements are dense.
struct Rows {
  float* data;
  int64_t stride;

  explicit Rows(const Tensor& x) : data(data_of<float>(x)), stride(x.strides()[0]) {}
  __device__ float* at(int64_t row) const { return data + row * stride; }
};

__global__ void __launch_bounds__(kChannels)
    mamba_kernel(Rows u, Rows dt, Rows b, Rows c, const float* a, const float* d, float* h, Rows y, int64_t tokens,
                 int64_t states, int64_t inner) {
  const int64_t i = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  if (i >= inner) return;
  for (int64_t t = 0; t < tokens; ++t) {
    const float step = dt.at(t)[i], entering = u.at(t)[i], fed = step * entering;
    float sum = d[i] * entering;
    for (int64_t n = 0; n < states; ++n) {
      const float next = expf(step * a[n * inner + i]) * h[n * inner + i] + fed * b.at(t)[n];
      h[n * inner + i] = next;
      sum += next * c.at(t)[n];
    }
    y.at(t)[i] = sum;
  }
}

__global__ void __launch_bounds__(kChannels)
    mamba2_kernel(Rows x, Rows dt, Rows b, Rows c, const float* a, const float* d, float* h, Rows y, int64_t tokens,
                  int64_t states, int64_t heads, int64_t head_dim, int64_t heads_per_group) {
  const int64_t i = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  if (i >= heads * head_dim) return;
  const int64_t head = i / head_dim, first = head / heads_per_group * states;
  float* state = h + head * states * head_dim + i % head_dim;
  for (int64_t t = 0; t < tokens; ++t) {
    const float step = dt.at(t)[head], entering = x.at(t)[i], kept = expf(step * a[head]);
    const float *in = b.at(t) + first, *read = c.at(t) + first;
    float sum = d[head] * entering;
    for (int64_t n = 0; n < states; ++n) {
      const float next = kept * state[n * head_dim] + step * in[n] * entering;
      state[n * head_dim] = next;
      sum += read[n] * next;
    }
    y.at(t)[i] = sum;
  }
}

// Sums are kept relative to e^top, so that no exponent overflows.
__global__ void __launch_bounds__(kChannels) rwkv_kernel(Rows keys, Rows values, Rows decay, const float* bonus,
                                                         float* sums, Rows out, int64_t tokens, int64_t inner) {
  const int64_t i = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  if (i >= inner) return;
  float sum = sums[i], weight = sums[inner + i], top = sums[2 * inner + i];
  for (int64_t t = 0; t < tokens; ++t) {
    const float key = keys.at(t)[i], value = values.at(t)[i], own = key + bonus[i];
    const float most = fmaxf(top, own), past_share = expf(top - most), own_share = expf(own - most);
    out.at(t)[i] = (past_share * sum + own_share * value) / (past_share * weight + own_share);

    const float faded = top - decay.at(t)[i], next = fmaxf(faded, key);
    const float kept = expf(faded - next), added = expf(key - next);
    sum = kept * sum + added * value;
    weight = kept * weight + added;
    top = next;
  }
  sums[i] = sum;
  sums[inner + i] = weight;
  sums[2 * inner + i] = top;
}

void mamba(const Tensor& u, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
           const Tensor& h, const Tensor& y) {
  const int64_t states = a.dim(0), inner = a.dim(1);
  mamba_kernel<<<blocks_for(inner, kChannels), kChannels, 0, runtime(u.device()).stream>>>(
      Rows(u), Rows(dt), Rows(b), Rows(c), data_of<const float>(a), data_of<const float>(d), data_of<float>(h), Rows(y),
      u.dim(0), states, inner);
  check_launch(u.device(), "mamba");
}

void mamba2(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
            const Tensor& h, const Tensor& y) {
  const int64_t heads = h.dim(0), states = h.dim(1), head_dim = h.dim(2), groups = b.dim(1) / states;
  mamba2_kernel<<<blocks_for(heads * head_dim, kChannels), kChannels, 0, runtime(x.device()).stream>>>(
      Rows(x), Rows(dt), Rows(b), Rows(c), data_of<const float>(a), data_of<const float>(d), data_of<float>(h), Rows(y),
      x.dim(0), states, heads, head_dim, heads / groups);
  check_launch(x.device(), "mamba2");
}

void rwkv(const Tensor& keys, const Tensor& values, const Tensor& decay, const Tensor& bonus, const Tensor& sums,
          const Tensor& out) {
  const int64_t inner = keys.dim(1);
  rwkv_kernel<<<blocks_for(inner, kChannels), kChannels, 0, runtime(keys.device()).stream>>>(
      Rows(keys), Rows(values), Rows(decay), data_of<const float>(bonus), data_of<float>(sums), Rows(out), keys.dim(0),
      inner);
  check_launch(keys.device(), "rwkv");
}

}  // namespace
}  // namespace cuda

const RecurrentKernels& cuda_recurrent_kernels() {
  static constexpr RecurrentKernels kTable = {cuda::mamba, cuda::mamba2, cuda::rwkv};
  return kTable;
}

}  // namespace wick
