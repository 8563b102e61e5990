#include <cmath>

#include "backends/cuda/runtime/kernels.h"
#include "backends/cuda/runtime/launch.cuh"

// One thread takes a channel through all tokens: neighbours read neighbouring elements, and no channel waits for
// another.
namespace wick::cuda {
namespace {

constexpr int kChannels = 64;  // in a block: few, so that many multiprocessors have work

// Rows of a matrix, whose elements are dense.
struct Rows {
  float* data;
  int64_t stride;

  // The rows of a sequence.
  Rows(const Tensor& x, const StateRows& of)
      : data(data_of<float>(x) + of.begin * x.strides()[0]), stride(x.strides()[0]) {}
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
    mamba2_kernel(Rows x, Rows dt, Rows b, Rows c, const float* a, int64_t a_stride, const float* d, float* h, Rows y,
                  int64_t tokens, int64_t states, int64_t heads, int64_t head_dim, int64_t heads_per_group) {
  const int64_t i = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  if (i >= heads * head_dim) return;
  const int64_t head = i / head_dim, first = head / heads_per_group * states;
  float* state = h + head * states * head_dim + i % head_dim;
  for (int64_t t = 0; t < tokens; ++t) {
    const float step = dt.at(t)[head], entering = x.at(t)[i];
    const float kept = expf(a_stride > 0 ? a[t * a_stride + head] : step * a[head]);
    const float *in = b.at(t) + first, *read = c.at(t) + first;
    float sum = d ? d[head] * entering : 0;
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

// A thread takes a column of a head's memory through all tokens.
__global__ void __launch_bounds__(kChannels)
    delta_rule_kernel(Rows queries, Rows keys, Rows values, Rows falls, Rows betas, float* state, Rows out,
                      int64_t tokens, int64_t key_dim, int64_t heads, int64_t dim, int64_t heads_per_key, float scale) {
  const int64_t i = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  if (i >= heads * dim) return;
  const int64_t head = i / dim, first = head / heads_per_key * key_dim;
  float* column = state + head * key_dim * dim + i % dim;
  for (int64_t t = 0; t < tokens; ++t) {
    const float *key = keys.at(t) + first, *query = queries.at(t) + first;
    const float kept = expf(-falls.at(t)[head]);
    float known = 0, read = 0;
    for (int64_t n = 0; n < key_dim; ++n) known += kept * column[n * dim] * key[n];
    const float change = betas.at(t)[head] * (values.at(t)[i] - known);
    for (int64_t n = 0; n < key_dim; ++n) {
      const float next = kept * column[n * dim] + key[n] * change;
      column[n * dim] = next;
      read += next * query[n];
    }
    out.at(t)[i] = scale * read;
  }
}

// A thread takes a channel of a sequence; the rows before the first are its history [taps - 1, channels]. All sums come
// from what was there before, then the last rows become the history.
__global__ void __launch_bounds__(kChannels) conv_kernel(Rows x, const float* weight, const float* bias, float* history,
                                                         Rows out, int64_t tokens, int64_t channels, int taps) {
  const int64_t c = int64_t{blockIdx.x} * kChannels + threadIdx.x;
  if (c >= channels) return;
  const int before = taps - 1;
  const auto at = [&](int64_t t) { return t < 0 ? history[(t + before) * channels + c] : x.at(t)[c]; };
  for (int64_t t = 0; t < tokens; ++t) {
    float sum = bias ? bias[c] : 0;
    for (int i = 0; i < taps; ++i) sum = __fadd_rn(sum, __fmul_rn(weight[i * channels + c], at(t - before + i)));
    out.at(t)[c] = sum;
  }
  for (int i = 0; i < before; ++i) history[i * channels + c] = at(tokens - before + i);  // reads only what lies behind
}

}  // namespace

void causal_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::span<const StateRows> sequences,
                 const Tensor& out) {
  const int64_t channels = x.dim(1);
  for (const StateRows& of : sequences) {
    conv_kernel<<<blocks_for(channels, kChannels), kChannels, 0, runtime(x.device()).stream>>>(
        Rows(x, of), data_of<const float>(weight), data_or_null<const float>(bias), data_of<float>(of.state),
        Rows(out, of), of.count, channels, static_cast<int>(weight.dim(0)));
  }
  check_launch(x.device(), "causal_conv");
}

void mamba_scan(const Tensor& u, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
                std::span<const StateRows> sequences, const Tensor& out) {
  const int64_t states = a.dim(0), inner = a.dim(1);
  for (const StateRows& of : sequences) {
    mamba_kernel<<<blocks_for(inner, kChannels), kChannels, 0, runtime(u.device()).stream>>>(
        Rows(u, of), Rows(dt, of), Rows(b, of), Rows(c, of), data_of<const float>(a), data_of<const float>(d),
        data_of<float>(of.state), Rows(out, of), of.count, states, inner);
  }
  check_launch(u.device(), "mamba_scan");
}

void mamba2_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
                 std::span<const StateRows> sequences, const Tensor& out) {
  for (const StateRows& of : sequences) {
    const Shape& h = of.state.shape();
    const int64_t heads = h[0], states = h[1], head_dim = h[2], groups = b.dim(1) / states;
    mamba2_kernel<<<blocks_for(heads * head_dim, kChannels), kChannels, 0, runtime(x.device()).stream>>>(
        Rows(x, of), Rows(dt, of), Rows(b, of), Rows(c, of),
        data_of<const float>(a) + (a.rank() == 2 ? of.begin * heads : 0), a.rank() == 2 ? heads : 0,
        data_or_null<const float>(d), data_of<float>(of.state), Rows(out, of), of.count, states, heads, head_dim,
        heads / groups);
  }
  check_launch(x.device(), "mamba2_scan");
}

void rwkv_scan(const Tensor& keys, const Tensor& values, const Tensor& decay, const Tensor& bonus,
               std::span<const StateRows> sequences, const Tensor& out) {
  const int64_t inner = keys.dim(1);
  for (const StateRows& of : sequences) {
    rwkv_kernel<<<blocks_for(inner, kChannels), kChannels, 0, runtime(keys.device()).stream>>>(
        Rows(keys, of), Rows(values, of), Rows(decay, of), data_of<const float>(bonus), data_of<float>(of.state),
        Rows(out, of), of.count, inner);
  }
  check_launch(keys.device(), "rwkv_scan");
}

void delta_rule_scan(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& falls,
                     const Tensor& betas, std::span<const StateRows> sequences, const Tensor& out) {
  for (const StateRows& of : sequences) {
    const Shape& s = of.state.shape();
    const int64_t heads = s[0], key_dim = s[1], dim = s[2], key_heads = keys.dim(1) / key_dim;
    const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(key_dim)));
    delta_rule_kernel<<<blocks_for(heads * dim, kChannels), kChannels, 0, runtime(queries.device()).stream>>>(
        Rows(queries, of), Rows(keys, of), Rows(values, of), Rows(falls, of), Rows(betas, of), data_of<float>(of.state),
        Rows(out, of), of.count, key_dim, heads, dim, heads / key_heads, scale);
  }
  check_launch(queries.device(), "delta_rule_scan");
}

}  // namespace wick::cuda
