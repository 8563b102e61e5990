#include "nn/short_conv.h"

#include <algorithm>
#include <cstring>

#include "base/thread_pool.h"
#include "ops/add.h"
#include "ops/check.h"
#include "ops/concat.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "ops/permute.h"
#include "tensor/create.h"

namespace wick {
namespace {

// One sequence's rows with those before them, which are in its history.
struct ConvInput {
  const float* rows;
  const float* history;
  int64_t row_stride, channels, taps;

  const float* at(int64_t t) const { return t < 0 ? history + (t + taps - 1) * channels : rows + t * row_stride; }
};

void convolve_row(const ConvInput& input, int64_t t, const float* __restrict weight, const float* bias,
                  float* __restrict out) {
  const int64_t channels = input.channels, taps = input.taps;
  for (int64_t c = 0; c < channels; ++c) out[c] = bias ? bias[c] : 0;
  for (int64_t i = 0; i < taps; ++i) {
    const float* __restrict from = input.at(t - taps + 1 + i);
    for (int64_t c = 0; c < channels; ++c) out[c] += weight[i * channels + c] * from[c];
  }
}

// With ops, for devices whose memory the host cannot read.
Tensor convolve_on_device(const Tensor& x, const Tensor& weight, const Tensor& bias,
                          std::span<const ConvRows> sequences) {
  const int64_t taps = weight.dim(0);
  const auto copy = find_kernel("short convolution", x.device(), &KernelTable::copy);
  std::vector<Tensor> parts;
  for (const ConvRows& of : sequences) {
    const Tensor joined = concat(std::vector<Tensor>{of.history, narrow(x, 0, of.begin, of.count)}, 0);
    Tensor out = bias;
    for (int64_t i = 0; i < taps; ++i) {
      const Tensor part = mul(narrow(joined, 0, i, of.count), narrow(weight, 0, i, 1));
      out = out.defined() ? add(out, part) : part;
    }
    parts.push_back(out);
    copy(narrow(joined, 0, of.count, taps - 1), of.history);
  }
  return concat(parts, 0);
}

}  // namespace

Tensor taps_first(const Tensor& filters) { return filters.defined() ? transpose(filters, 0, 1).contiguous() : filters; }

Tensor causal_conv(const Tensor& x, const Tensor& weight, const Tensor& bias, std::span<const ConvRows> sequences) {
  if (!x.device().is_host()) return convolve_on_device(x, weight, bias, sequences);
  const Tensor rows = x.strides()[1] == 1 ? x : x.contiguous();
  const int64_t tokens = x.dim(0), channels = x.dim(1), taps = weight.dim(0), stride = rows.strides()[0];
  Tensor out = empty(x.shape(), DType::kF32, x.device());
  const float* in = rows.data<float>();
  const float* w = weight.data<float>();
  const float* b = bias.defined() ? bias.data<float>() : nullptr;
  float* y = out.mutable_data<float>();
  const auto input = [&](const ConvRows& of) {
    return ConvInput{in + of.begin * stride, of.history.data<float>(), stride, channels, taps};
  };
  parallel_for(tokens, 8, [&](int64_t begin, int64_t end) {
    auto sequence = std::upper_bound(sequences.begin(), sequences.end(), begin,
                                     [](int64_t row, const ConvRows& of) { return row < of.begin + of.count; });
    for (int64_t row = begin; row < end; ++row) {
      if (row == sequence->begin + sequence->count) ++sequence;
      convolve_row(input(*sequence), row - sequence->begin, w, b, y + row * channels);
    }
  });
  // The last taps - 1 rows become the history; with fewer new rows, old ones move up.
  parallel_for(static_cast<int64_t>(sequences.size()), 4, [&](int64_t begin, int64_t end) {
    for (const ConvRows& of : sequences.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))) {
      float* past = of.history.mutable_data<float>();
      for (int64_t i = 0; i < taps - 1; ++i) {
        std::memmove(past + i * channels, input(of).at(of.count - taps + 1 + i),
                     static_cast<size_t>(channels) * sizeof(float));
      }
    }
  });
  return out;
}

Tensor ShortConv::operator()(const Tensor& x, std::span<const Rows> sequences, const BatchHooks& hooks,
                             int layer) const {
  const int64_t hidden = x.dim(1);
  const Tensor parts = in(x);
  const Tensor gate = narrow(parts, 1, hidden, hidden);
  const Tensor gated =
      hooks(HookPoint::kMixerIn, layer, mul(narrow(parts, 1, 0, hidden), narrow(parts, 1, 2 * hidden, hidden)));
  const Tensor mixed = causal_conv(gated, weight, bias, sequences);
  return out(mul(hooks(HookPoint::kGate, layer, gate.contiguous()), mixed));
}

}  // namespace wick
