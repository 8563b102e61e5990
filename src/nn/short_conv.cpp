#include "nn/short_conv.h"

#include <cstring>

#include "base/thread_pool.h"
#include "ops/mul.h"
#include "ops/narrow.h"
#include "tensor/create.h"

namespace wick {

Tensor causal_conv(const Tensor& rows, const Tensor& weight, const Tensor& bias, const Tensor& history) {
  const Tensor x = rows.contiguous();
  const int64_t tokens = x.dim(0), channels = x.dim(1), taps = weight.dim(1);
  Tensor out = empty(x.shape());
  const float* in = x.data<float>();
  const float* w = weight.data<float>();
  const float* b = bias.defined() ? bias.data<float>() : nullptr;
  float* past = history.mutable_data<float>();
  float* y = out.mutable_data<float>();
  const auto row_at = [&](int64_t t) { return t < 0 ? past + (t + taps - 1) * channels : in + t * channels; };
  parallel_for(tokens, 8, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      float* to = y + t * channels;
      for (int64_t c = 0; c < channels; ++c) to[c] = b ? b[c] : 0;
      for (int64_t i = 0; i < taps; ++i) {
        const float* from = row_at(t - taps + 1 + i);
        for (int64_t c = 0; c < channels; ++c) to[c] += w[c * taps + i] * from[c];
      }
    }
  });
  // The last taps - 1 rows become the history; with fewer new rows, old ones move up.
  for (int64_t i = 0; i < taps - 1; ++i) {
    const float* from = row_at(tokens - taps + 1 + i);
    std::memmove(past + i * channels, from, static_cast<size_t>(channels) * sizeof(float));
  }
  return out;
}

Tensor ShortConv::operator()(const Tensor& x, std::span<const Rows> sequences, const BatchHooks& hooks,
                             int layer) const {
  const int64_t hidden = x.dim(1);
  const Tensor parts = in(x);
  const Tensor gate = narrow(parts, 1, hidden, hidden);
  const Tensor gated =
      hooks(HookPoint::kMixerIn, layer, mul(narrow(parts, 1, 0, hidden), narrow(parts, 1, 2 * hidden, hidden)));
  Tensor mixed = empty(x.shape());
  for (const Rows& rows : sequences) {
    const Tensor y = causal_conv(narrow(gated, 0, rows.begin, rows.count), weight, bias, rows.history);
    std::memcpy(mixed.mutable_data<float>() + rows.begin * hidden, y.data<float>(),
                static_cast<size_t>(y.numel()) * sizeof(float));
  }
  return out(mul(hooks(HookPoint::kGate, layer, gate.contiguous()), mixed));
}

}  // namespace wick
