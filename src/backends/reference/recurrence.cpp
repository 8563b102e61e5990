#include "ops/layers/recurrence.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/kernels.h"

namespace wick::reference {
namespace {

// An element of a matrix whose rows may lie apart.
double at(const Tensor& x, int64_t row, int64_t column) { return x.data<float>()[row * x.strides()[0] + column]; }
void put(const Tensor& out, int64_t row, int64_t column, double value) {
  out.mutable_data<float>()[row * out.strides()[0] + column] = static_cast<float>(value);
}

}  // namespace

void causal_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::span<const StateRows> sequences,
                 const Tensor& out) {
  const int64_t channels = x.dim(1), taps = weight.dim(0);
  for (const StateRows& of : sequences) {
    std::vector<std::vector<float>> rows;
    for (int64_t i = 0; i < taps - 1 + of.count; ++i) {
      const bool is_old = i < taps - 1;
      const float* from =
          is_old ? of.state.data<float>() + i * channels : x.data<float>() + (of.begin + i - taps + 1) * x.strides()[0];
      rows.emplace_back(from, from + channels);
    }
    for (int64_t t = 0; t < of.count; ++t) {
      for (int64_t c = 0; c < channels; ++c) {
        double sum = bias.defined() ? double{bias.data<float>()[c]} : 0;
        for (int64_t i = 0; i < taps; ++i) {
          sum += at(weight, i, c) * rows[static_cast<size_t>(t + i)][static_cast<size_t>(c)];
        }
        put(out, of.begin + t, c, sum);
      }
    }
    for (int64_t i = 0; i < taps - 1; ++i) {
      const std::vector<float>& row = rows[static_cast<size_t>(of.count + i)];
      std::copy(row.begin(), row.end(), of.state.mutable_data<float>() + i * channels);
    }
  }
}

void mamba_scan(const Tensor& u, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
                std::span<const StateRows> sequences, const Tensor& out) {
  const int64_t states = a.dim(0), inner = a.dim(1);
  for (const StateRows& of : sequences) {
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
        double sum = double{d.data<float>()[i]} * at(u, t, i);
        for (int64_t n = 0; n < states; ++n) {
          float& h = of.state.mutable_data<float>()[n * inner + i];
          const double next = std::exp(at(dt, t, i) * at(a, n, i)) * h + at(dt, t, i) * at(u, t, i) * at(b, t, n);
          h = static_cast<float>(next);
          sum += next * at(c, t, n);
        }
        put(out, t, i, sum);
      }
    }
  }
}

void mamba2_scan(const Tensor& x, const Tensor& dt, const Tensor& b, const Tensor& c, const Tensor& a, const Tensor& d,
                 std::span<const StateRows> sequences, const Tensor& out) {
  const Shape& state = sequences.front().state.shape();
  const int64_t heads = state[0], states = state[1], dim = state[2], per_group = heads / (b.dim(1) / states);
  for (const StateRows& of : sequences) {
    for (int64_t i = 0; i < heads * dim; ++i) {
      const int64_t head = i / dim, group = head / per_group * states;
      for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
        const double step = at(dt, t, head);
        const double kept = std::exp(a.rank() == 2 ? at(a, t, head) : step * a.data<float>()[head]);
        double sum = d.defined() ? double{d.data<float>()[head]} * at(x, t, i) : 0;
        for (int64_t n = 0; n < states; ++n) {
          float& h = of.state.mutable_data<float>()[(head * states + n) * dim + i % dim];
          const double next = kept * h + step * at(b, t, group + n) * at(x, t, i);
          h = static_cast<float>(next);
          sum += at(c, t, group + n) * next;
        }
        put(out, t, i, sum);
      }
    }
  }
}

void rwkv_scan(const Tensor& keys, const Tensor& values, const Tensor& decay, const Tensor& bonus,
               std::span<const StateRows> sequences, const Tensor& out) {
  const int64_t inner = keys.dim(1);
  for (const StateRows& of : sequences) {
    for (int64_t i = 0; i < inner; ++i) {
      float* sums = of.state.mutable_data<float>() + i;
      double sum = sums[0], weight = sums[inner], top = sums[2 * inner];
      for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
        const double key = at(keys, t, i), value = at(values, t, i), own = key + bonus.data<float>()[i];
        const double most = std::max(top, own), past = std::exp(top - most), mine = std::exp(own - most);
        put(out, t, i, (past * sum + mine * value) / (past * weight + mine));
        const double faded = top - at(decay, t, i), next = std::max(faded, key);
        sum = std::exp(faded - next) * sum + std::exp(key - next) * value;
        weight = std::exp(faded - next) * weight + std::exp(key - next);
        top = next;
      }
      sums[0] = static_cast<float>(sum);
      sums[inner] = static_cast<float>(weight);
      sums[2 * inner] = static_cast<float>(top);
    }
  }
}

void delta_rule_scan(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& falls,
                     const Tensor& betas, std::span<const StateRows> sequences, const Tensor& out) {
  const Shape& state = sequences.front().state.shape();
  const int64_t heads = state[0], key_dim = state[1], dim = state[2], per_key = heads / (keys.dim(1) / key_dim);
  const double scale = 1 / std::sqrt(static_cast<double>(key_dim));
  for (const StateRows& of : sequences) {
    for (int64_t i = 0; i < heads * dim; ++i) {
      const int64_t head = i / dim, first = head / per_key * key_dim;
      float* column = of.state.mutable_data<float>() + head * key_dim * dim + i % dim;
      for (int64_t t = of.begin; t < of.begin + of.count; ++t) {
        const double kept = std::exp(-at(falls, t, head));
        double known = 0, read = 0;
        for (int64_t n = 0; n < key_dim; ++n) known += kept * column[n * dim] * at(keys, t, first + n);
        const double change = at(betas, t, head) * (at(values, t, i) - known);
        for (int64_t n = 0; n < key_dim; ++n) {
          const double next = kept * column[n * dim] + at(keys, t, first + n) * change;
          column[n * dim] = static_cast<float>(next);
          read += next * at(queries, t, first + n);
        }
        put(out, t, i, scale * read);
      }
    }
  }
}

}  // namespace wick::reference
