#include "ops/layers/recurrence.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/cpu/kernels.h"
#include "base/fast_exp.h"
#include "base/thread_pool.h"

// A thread takes some channels of a sequence through all of its rows; their states stay in its cache.
namespace wick::cpu {
namespace {

constexpr int64_t kChannels = 64;

// body(sequence, first channel, channels) for all sequences and pieces of `inner` channels.
template <typename Body>
void for_each_piece(std::span<const StateRows> sequences, int64_t inner, int64_t most, const Body& body) {
  const int64_t pieces = (inner + most - 1) / most;
  parallel_for(static_cast<int64_t>(sequences.size()) * pieces, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * most;
      body(sequences[static_cast<size_t>(i / pieces)], first, std::min(most, inner - first));
    }
  });
}

// Rows of a matrix whose elements are dense.
struct Rows {
  const float* data;
  int64_t stride;

  explicit Rows(const Tensor& x) : data(x.data<float>()), stride(x.strides()[0]) {}
  const float* at(int64_t row) const { return data + row * stride; }
};

// One sequence's rows of x with those before them, which are its state.
struct History {
  Rows x;
  int64_t begin;
  const float* before;
  int64_t channels, taps;

  const float* at(int64_t t) const { return t < 0 ? before + (t + taps - 1) * channels : x.at(begin + t); }
};

void convolve_row(const History& x, int64_t t, const float* __restrict weight, const float* bias,
                  float* __restrict out) {
  for (int64_t c = 0; c < x.channels; ++c) out[c] = bias ? bias[c] : 0;
  for (int64_t i = 0; i < x.taps; ++i) {
    const float* __restrict from = x.at(t - x.taps + 1 + i);
    for (int64_t c = 0; c < x.channels; ++c) out[c] += weight[i * x.channels + c] * from[c];
  }
}

void mamba_row(const float* __restrict u, const float* __restrict dt, const float* __restrict b,
               const float* __restrict c, const float* __restrict a, const float* __restrict d, int64_t states,
               int64_t row, int64_t channels, float* __restrict h, float* __restrict y) {
  float fed[kChannels];
  for (int64_t i = 0; i < channels; ++i) {
    fed[i] = dt[i] * u[i];
    y[i] = d[i] * u[i];
  }
  for (int64_t n = 0; n < states; ++n) {
    for (int64_t i = 0; i < channels; ++i) {
      const float next = fast_exp(dt[i] * a[n * row + i]) * h[n * row + i] + fed[i] * b[n];
      h[n * row + i] = next;
      y[i] += next * c[n];
    }
  }
}

// One row of one head.
void mamba2_row(const float* __restrict x, const float* __restrict b, const float* __restrict c, float dt, float kept,
                float d, int64_t states, int64_t dim, float* __restrict h, float* __restrict y) {
  for (int64_t i = 0; i < dim; ++i) y[i] = d * x[i];
  for (int64_t n = 0; n < states; ++n) {
    float* __restrict row = h + n * dim;
    const float fed = dt * b[n], read = c[n];
    for (int64_t i = 0; i < dim; ++i) {
      row[i] = kept * row[i] + fed * x[i];
      y[i] += read * row[i];
    }
  }
}

// Sums are kept relative to e^top, so that no exponent overflows.
void rwkv_row(const float* __restrict key, const float* __restrict value, const float* __restrict bonus,
              const float* __restrict decay, int64_t channels, float* __restrict sum, float* __restrict weight,
              float* __restrict top, float* __restrict out) {
  for (int64_t i = 0; i < channels; ++i) {
    const float own = key[i] + bonus[i];
    const float most = top[i] > own ? top[i] : own;
    const float past_share = fast_exp(top[i] - most), own_share = fast_exp(own - most);
    out[i] = (past_share * sum[i] + own_share * value[i]) / (past_share * weight[i] + own_share);

    const float faded = top[i] - decay[i];
    const float next = faded > key[i] ? faded : key[i];
    const float kept = fast_exp(faded - next), added = fast_exp(key[i] - next);
    sum[i] = kept * sum[i] + added * value[i];
    weight[i] = kept * weight[i] + added;
    top[i] = next;
  }
}

}  // namespace

void causal_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::span<const StateRows> sequences,
                 const Tensor& out) {
  const int64_t channels = x.dim(1), taps = weight.dim(0);
  const float* w = weight.data<float>();
  const float* b = bias.defined() ? bias.data<float>() : nullptr;
  float* y = out.mutable_data<float>();
  const auto history = [&](const StateRows& of) {
    return History{Rows(x), of.begin, of.state.data<float>(), channels, taps};
  };
  parallel_for(x.dim(0), 8, [&](int64_t begin, int64_t end) {
    auto sequence = std::upper_bound(sequences.begin(), sequences.end(), begin,
                                     [](int64_t row, const StateRows& of) { return row < of.begin + of.count; });
    for (int64_t row = begin; row < end; ++row) {
      while (row >= sequence->begin + sequence->count) ++sequence;
      convolve_row(history(*sequence), row - sequence->begin, w, b, y + row * channels);
    }
  });
  // The last taps - 1 rows become the state; with fewer new rows, old ones move up.
  parallel_for(static_cast<int64_t>(sequences.size()), 4, [&](int64_t begin, int64_t end) {
    for (const StateRows& of : sequences.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))) {
      float* past = of.state.mutable_data<float>();
      for (int64_t i = 0; i < taps - 1; ++i) {
        std::memmove(past + i * channels, history(of).at(of.count - taps + 1 + i),
                     static_cast<size_t>(channels) * sizeof(float));
      }
    }
  });
}

void mamba_scan(const Tensor& u, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
                std::span<const StateRows> sequences, const Tensor& out) {
  const Rows us(u), dts(dt), bs(b), cs(c);
  const int64_t states = a.dim(0), inner = a.dim(1);
  const float *as = a.data<float>(), *ds = d.data<float>();
  float* y = out.mutable_data<float>();
  for_each_piece(sequences, inner, kChannels, [&](const StateRows& of, int64_t first, int64_t channels) {
    float* h = of.state.mutable_data<float>() + first;
    for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
      mamba_row(us.at(t) + first, dts.at(t) + first, bs.at(t), cs.at(t), as + first, ds + first, states, inner,
                channels, h, y + t * inner + first);
    }
  });
}

void mamba2_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
                 std::span<const StateRows> sequences, const Tensor& out) {
  const Rows xs(x), dts(dt), bs(b), cs(c);
  const Tensor& state = sequences.front().state;
  const int64_t heads = state.dim(0), states = state.dim(1), dim = state.dim(2), inner = heads * dim;
  const int64_t heads_per_group = heads / (b.dim(1) / states);
  const bool by_row = a.rank() == 2;
  const float *as = a.data<float>(), *ds = d.defined() ? d.data<float>() : nullptr;
  float* y = out.mutable_data<float>();
  for_each_piece(sequences, heads, 1, [&](const StateRows& of, int64_t head, int64_t) {
    const int64_t group = head / heads_per_group * states;
    float* h = of.state.mutable_data<float>() + head * states * dim;
    for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
      const float delta = dts.at(t)[head], exponent = by_row ? as[t * heads + head] : delta * as[head];
      mamba2_row(xs.at(t) + head * dim, bs.at(t) + group, cs.at(t) + group, delta, std::exp(exponent),
                 ds ? ds[head] : 0, states, dim, h, y + t * inner + head * dim);
    }
  });
}

void rwkv_scan(const Tensor& keys, const Tensor& values, const Tensor& decay, const Tensor& bonus,
               std::span<const StateRows> sequences, const Tensor& out) {
  const Rows ks(keys), vs(values), ds(decay);
  const int64_t inner = keys.dim(1);
  const float* bonuses = bonus.data<float>();
  float* y = out.mutable_data<float>();
  for_each_piece(sequences, inner, kChannels, [&](const StateRows& of, int64_t first, int64_t channels) {
    float* sums = of.state.mutable_data<float>() + first;
    for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
      rwkv_row(ks.at(t) + first, vs.at(t) + first, bonuses + first, ds.at(t) + first, channels, sums, sums + inner,
               sums + 2 * inner, y + t * inner + first);
    }
  });
}

}  // namespace wick::cpu
